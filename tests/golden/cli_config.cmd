code() { sactag plan no.onnx --config "$1" && echo "exit 0" || echo "exit $?"; }
code missing.conf
mkdir dir
code dir
printf '# fine\n\nfqn = a\nfnq = b\n' > typo.conf
code typo.conf
printf 'match = exatc\n' > value.conf
code value.conf
printf 'strict\nfqn\n' > novalue.conf
code novalue.conf
printf 'fqn =   # only a comment\n' > comment.conf
code comment.conf
printf '   = a\n' > noname.conf
code noname.conf
printf 'strict = maybe\n' > flag.conf
code flag.conf
printf 'output = x\n' > output.conf
code output.conf
printf 'config = other.conf\n' > nested.conf
code nested.conf
printf 'fqn = a\nfqn = b\000c\n' > nul.conf
code nul.conf
printf 'fqn = b\000c' > nul_at_end.conf
code nul_at_end.conf
head -c 70000 /dev/zero | tr '\0' x > long.conf
code long.conf
printf 'force-shape = 3x\n' > shape.conf
code shape.conf
printf 'fqn\033 = a\n' > escape.conf
code escape.conf
# the input and its configuration cannot both come from standard input
echo 'fqn = a' | sactag plan - --config - -q; echo $?
