# A block's call holds what it calls, be it another's module or run by a hook
sactag plan -q models/pt2/lent.pt2 --blocks 'layers.*' --fqn hooked --format tsv | cut -f 3,6,7,10-11
