/* SPDX-License-Identifier: BSD-3-Clause */
/* Kind titan.dataset/1: where training data comes from. A dataset is cut into
 * shards that are read alone and in any order; a shard is a sequence of records
 * with the numbers 0, 1, 2, ... The same files and options give the same shards
 * and records for ever: a run is resumed by (shard, record). Lanes, shuffling,
 * mixing, packing, what is held out and what happens to bad records are the
 * host's. The datasets that are built in are text, jsonl, tokens and chat. */
#ifndef TITAN_ABI_DATASET_H_
#define TITAN_ABI_DATASET_H_

#include "host.h"
#include "types.h"

/* What the records of a dataset are, all of them alike. */
#define TITAN_RECORD_TEXT 0     /* UTF-8 */
#define TITAN_RECORD_MESSAGES 1 /* JSON of a conversation (docs/chat.md) */
#define TITAN_RECORD_TOKENS 2   /* ids of the run's tokenizer */

/* What the host wants. Borrowed during `create`. */
typedef struct titan_dataset_request {
  uint32_t struct_size;
  uint32_t reserved;
  /* data.files. With `endings` in the table: files that exist and are not
   * empty, in order. Without: the entries as they are written, or none. */
  const titan_str* files;
  uint64_t num_files;
  int64_t num_lanes;   /* shards that are read at once: be as many, or more */
  int64_t block_bytes; /* what an open shard may hold in memory, about */
} titan_dataset_request;

typedef struct titan_dataset_facts {
  uint32_t struct_size;
  int32_t record_format;
  int64_t num_shards; /* 0: nothing in it */
  /* Of what shards and records depend on beside `files` and `config`, which
   * the host compares itself. */
  uint64_t fingerprint;
} titan_dataset_facts;

/* Borrowed during `add`. */
typedef struct titan_record {
  uint32_t struct_size;
  uint32_t reserved;
  titan_str content; /* text or JSON */
  const int32_t* ids;
  uint64_t num_ids;
} titan_record;

typedef struct titan_record_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* self;
  void (*add)(void* self, const titan_record*);
  /* The record is there but cannot be used. `why` without its place; what then
   * happens is data.on_bad_line's. */
  void (*refuse)(void* self, titan_str why);
} titan_record_sink;

/* [thread: any, also several at once, for one object], except that a reader is
 * used by one thread at a time. Readers are closed before `destroy`. */
typedef struct titan_dataset_table {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  /* Of the files that a folder in data.files is searched for, with spaces
   * between: ".parquet .pq". Empty: the entries name no files. */
  titan_str endings;
  /* Looks into the files as far as facts need. */
  int32_t (*create)(const titan_host_api*,
                    const titan_config*,
                    const titan_dataset_request*,
                    titan_object** out,
                    titan_error*);
  void (*destroy)(titan_object*);
  int32_t (*get_facts)(const titan_object*, titan_dataset_facts*, titan_error*);
  /* A reader that stands at record 0 of the shard. */
  int32_t (*open_shard)(const titan_object*,
                        int64_t shard,
                        titan_object** reader,
                        titan_error*);
  void (*close_shard)(titan_object* reader);
  /* Hands the next record over by one call of the sink; by none where the
   * shard ends. */
  int32_t (*next)(titan_object* reader, const titan_record_sink*, titan_error*);
  /* Optional (may be null): goes forward to record number `record`, cheaper
   * than by `next`. */
  int32_t (*seek)(titan_object* reader, int64_t record, titan_error*);
  /* Where a record is, for people: "web.parquet: row group 3, row 17". */
  int32_t (*describe)(const titan_object*,
                      int64_t shard,
                      int64_t record,
                      const titan_text_sink*,
                      titan_error*);
} titan_dataset_table;

#endif /* TITAN_ABI_DATASET_H_ */
