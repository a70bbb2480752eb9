# SPDX-License-Identifier: BSD-3-Clause
# C headers of the ABI -> a program that prints the layout of each struct, one
# field a line: "struct field offset size type". Only the ABI's own style is read:
# typedef struct NAME { declarations; } NAME;

function trim(s) {
  gsub(/[ \t\n]+/, " ", s)
  sub(/^ /, "", s)
  sub(/ $/, "", s)
  return s
}

# "const int64_t* dims" -> name "dims", type "const int64_t*".
function emit(declaration,    name, type) {
  declaration = trim(declaration)
  if (declaration == "") return
  type = declaration
  if (match(declaration, /\(\*[a-z_0-9]+\)/)) {
    name = substr(declaration, RSTART + 2, RLENGTH - 3)
    sub(/\(\*[a-z_0-9]+\)/, "(*)", type)
  } else {
    match(declaration, /[a-z_0-9]+(\[[0-9]+\])?$/)
    name = substr(declaration, RSTART, RLENGTH)
    type = trim(substr(declaration, 1, RSTART - 1))
    if (match(name, /\[/)) {
      type = type substr(name, RSTART)
      name = substr(name, 1, RSTART - 1)
    }
  }
  printf "  FIELD(%s, %s, \"%s\");\n", current, name, type
}

# "double mean, std" declares several; commas inside parentheses do not count.
function emit_all(statement,    type, parts, count, i) {
  if (statement ~ /\(/ || statement !~ /,/) {
    emit(statement)
    return
  }
  count = split(trim(statement), parts, /,/)
  match(parts[1], /[a-z_0-9]+$/)
  type = substr(parts[1], 1, RSTART - 1)
  emit(parts[1])
  for (i = 2; i <= count; ++i) emit(type trim(parts[i]))
}

{ text = text $0 "\n" }

END {
  while (match(text, /\/\*([^*]|\*+[^*\/])*\*+\//))
    text = substr(text, 1, RSTART - 1) " " substr(text, RSTART + RLENGTH)
  print "#include <stddef.h>"
  print "#include <stdio.h>"
  print "#include <titan/abi.h>"
  print "#define FIELD(s, f, type) printf(\"%s %s %zu %zu %s\\n\", \\"
  print "  #s, #f, offsetof(s, f), sizeof(((s*)0)->f), type)"
  print "int main(void) {"
  while (match(text, /typedef struct [a-z_]+ \{/)) {
    current = substr(text, RSTART + 15, RLENGTH - 17)
    text = substr(text, RSTART + RLENGTH)
    end = index(text, "}")
    body = substr(text, 1, end - 1)
    text = substr(text, end + 1)
    gsub(/\n#define[^\n]*/, "", body)
    statements = split(body, list, /;/)
    for (s = 1; s <= statements; ++s) emit_all(list[s])
    printf "  printf(\"%s = %%zu\\n\", sizeof(%s));\n", current, current
  }
  print "  return 0;"
  print "}"
}
