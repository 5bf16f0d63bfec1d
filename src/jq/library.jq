# Functions of jq 1.8 that jaq does not define.
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] |= $row);
def INDEX(f): INDEX(.[]; f);
def ascii: [.] | implode;
def toarray: if isarray then . else [.] end;
def isvalid(f): try (f | true) catch false;
def leaf_paths: paths(scalars);
def trimstr($s): ltrimstr($s) | rtrimstr($s);
def @csv: map(if type == "string" then "\"" + gsub("\""; "\"\"") + "\""
              elif . == null then "" else tostring end) | join(",");
def @tsv: map(if type == "string" then gsub("\\\\"; "\\\\") | gsub("\t"; "\\t")
                                       | gsub("\n"; "\\n") | gsub("\r"; "\\r")
              elif . == null then "" else tostring end) | join("\t");
