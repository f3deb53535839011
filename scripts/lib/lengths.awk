# Reports C++ files of more than 400 lines and functions of more than 70, where no comment says why: a comment in the file's
# first 25 lines, or directly above the function, with the words "longer than other". It relies on how clang-format lays files
# out: what closes a function is a brace in the column in which the function begins. A TEST_CASE is a function; a
# namespace, a type and a table are not.

function isFunction(text) {
  sub(/\/\/.*$/, "", text)
  # What a template takes, which may say "class" itself.
  while (match(text, /^ *template *<[^<>]*>/)) text = substr(text, RSTART + RLENGTH)
  if (text ~ /^ *(export )?(inline )?(namespace|class|struct|enum|union|extern "C")([ \[{]|$)/) return 0
  if (text ~ /[^=!<>]= *\{ *$/ || text ~ /^ *template/ && text ~ />  *(class|struct|union) [A-Za-z_]*[^(]*\{ *$/) return 0
  return text ~ /\(|\[[^\]]*\] *\{ *$/
}

function endOfFile() {
  if (file != "" && lines > 400 && !reason) printf "%s: a file of %d lines\n", file, lines
}

FNR == 1 {
  endOfFile()
  file = FILENAME
  reason = 0
  begun = 0
  raw = ""
  head = ""
  comment = ""
}

{
  lines = FNR
  if (FNR <= 25 && /\/\/.*longer than other/) reason = 1
  # Text of a raw string is none of the file's code.
  if (raw != "") {
    if (!index($0, raw)) next
    raw = ""
    if (/; *$/ && !begun) head = ""
    next
  }
  if (match($0, /R"[A-Za-z_]*\(/)) {
    raw = ")" substr($0, RSTART + 2, RLENGTH - 3) "\""
    if (index(substr($0, RSTART + RLENGTH), raw)) raw = ""
  }
  match($0, /^ */)
  indent = RLENGTH
  if (begun) {
    if (indent == column && /^ *\}/ && !/^ *\} *(else|catch)/) {
      if (FNR - begun + 1 > 70 && !excused) printf "%s:%d: a function of %d lines: %s\n", FILENAME, begun, FNR - begun + 1, first
      begun = 0
      head = ""
      comment = ""
    }
    next
  }
  if (/^ *\/\//) {
    if (head == "") comment = comment $0
    next
  }
  if (/^ *(#.*|(public|private|protected):)?$/) {
    head = ""
    comment = ""
    next
  }
  if (head == "") {
    first = $0
    at = indent
  }
  head = head " " $0
  if (/\{( *\/\/.*)?$/) {
    if (isFunction(head)) {
      begun = FNR
      column = at
      excused = comment ~ /longer than other/
    }
    head = ""
    if (!begun) comment = ""
  } else if (/[;}]( *\/\/.*)?$/) {
    head = ""
    comment = ""
  }
}

END { endOfFile() }
