sactag help
sactag --help | cmp - help.all 2>/dev/null || sactag help > help.all
sactag --help | cmp - help.all
sactag -h | cmp - help.all
sactag help help | cmp - help.all
for c in tag plan show strip linears; do
    sactag help $c > help.$c
    sactag $c --help | cmp - help.$c
    sactag $c -h | cmp - help.$c
    sactag $c --fqn x --help 2>/dev/null | cmp - help.$c || echo "$c: --fqn comes first"
done
