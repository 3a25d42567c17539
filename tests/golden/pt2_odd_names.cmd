# Names say what they say, and each module is called twice; a comma of the name's own is written \,
sactag plan models/pt2/odd_names.pt2 --blocks 'layers.*' --fqn 'up.#1\,x,up.a;b' --format tsv | cut -f 6,8-12
echo 'fqn = up.#1\,x, up.-' >names.conf
sactag plan models/pt2/odd_names.pt2 --blocks 'layers.*' --config names.conf --format json | grep -o '"fqns": [^]]*]'
