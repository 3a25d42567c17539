#!/bin/sh
# Runs every command that the documents show: docs.sh SACTAG [FILE...]. The last line is "N passed, M failed".
#
# In ```sh blocks a line "$ COMMAND" is run (a backslash at its end continues it) and must succeed; the lines below, up
# to the next command, are what it must print, stdout and stderr together. A line "..." there stands for any lines; with no line
# below, output is not compared. All commands of one document run in one copy of the tree, with the program in PATH, as after an
# install; but the READMEs are walked through after `make` alone.
# A ```c, ```cpp or ```python block that begins with a comment naming a file, "/* examples/embed.c */", has lines of it. A name
# without a folder is a file that the block is the whole of, for the commands.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) BUILD=$(dirname "$1") passed=0 failed=0
build=$(realpath "$BUILD")
shift
cd "$root" || exit 1
case $BUILD in build | /*) ;; *) echo "BUILD must be build or an absolute path" >&2 && exit 1 ;; esac
[ $# -gt 0 ] || set -- README.md docs/*.md examples/*.md tests/README.md
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C TERM=dumb HOME="$tmp/home"
export BUILD # by the same name, or make would build everything anew
unset MAKEFLAGS MAKELEVEL MFLAGS VARIANT CC
mkdir "$HOME"

# Cuts a document into N.cmd, N.want and N.line files, or N.code, N.from and N.line.
extract()
{
    awk -v dir="$2" '
        function close_command() { if (n) { close(base ".cmd"); close(base ".want") } }
        /^```/ {
            if (!inside) { inside = first = 1; sh = /^```sh$/; c = /^```(c|cpp|python)$/; next }
            if (code) close(code)
            inside = sh = c = more = 0
            code = ""
        }
        c && code { print >> code; next }
        c && first && /^(\/\*|\/\/|#) [^ ]+\.[a-z]+( \*\/)?$/ {
            base = sprintf("%s/%03d", dir, ++n)
            code = base ".code"
            printf "" > code
            first = 0
            print NR > (base ".line"); close(base ".line")
            print $2 > (base ".from"); close(base ".from")
            next
        }
        { first = 0 }
        !sh { next }
        more { print >> (base ".cmd"); more = /\\$/; next }
        /^\$ / {
            close_command()
            base = sprintf("%s/%03d", dir, ++n)
            printf "" > (base ".want")
            print NR > (base ".line"); close(base ".line")
            print substr($0, 3) > (base ".cmd")
            more = /\\$/
            next
        }
        n { print >> (base ".want") }
        !n { printf "%s:%d: output without a command\n", FILENAME, NR > "/dev/stderr" }' "$1"
}

# Whether file $2 is as file $1 says, where "..." lines of $1 match any lines.
matches()
{
    awk 'NR == FNR { want[++n] = $0; next } { got[++m] = $0 }
        function fits(i, j) { # want[i..] against got[j..], without recursion on fixed lines
            for (; i <= n; i++) {
                if (want[i] == "...") {
                    for (; j <= m + 1; j++) if (fits(i + 1, j)) return 1
                    return 0
                }
                if (j > m || want[i] != got[j++]) return 0
            }
            return j == m + 1
        }
        END { exit !fits(1, 1) }' "$1" "$2"
}

# Whether the lines of file $1 stand in file $2, one after the other.
stands_in()
{
    awk 'NR == FNR { want[++n] = $0; next } { got[++m] = $0 }
        END { for (i = 0; n && i + n <= m; i++) { for (j = 1; j <= n && want[j] == got[i + j]; j++); if (j > n) exit 0 }; exit 1 }' "$1" "$2"
}

for doc in "$@"; do
    [ -e "$doc" ] || continue
    name=$(echo "$doc" | tr / _)
    parts=$tmp/$name.parts tree=$tmp/$name
    mkdir "$parts" "$tree"
    extract "$doc" "$parts"
    for entry in *; do
        case $entry in build) ;; examples | docs) cp -R "$entry" "$tree" ;; *) ln -s "$root/$entry" "$tree/$entry" ;; esac
    done
    ln -s "$build" "$tree/build"
    case $doc in README.md | examples/README.md) path=$PATH ;; *) path=$build:$PATH ;; esac
    for code in "$parts"/*.code; do
        [ -e "$code" ] || continue
        base=${code%.code}
        case $(cat "$base.from") in
        */*) ;;
        *)
            cp "$code" "$tree/$(cat "$base.from")"
            continue
            ;;
        esac
        if stands_in "$code" "$(cat "$base.from")"; then
            passed=$((passed + 1))
        else
            echo "FAIL docs $doc:$(cat "$base.line"): does not stand in $(cat "$base.from")"
            failed=$((failed + 1))
        fi
    done
    for cmd in "$parts"/*.cmd; do
        [ -e "$cmd" ] || continue
        base=${cmd%.cmd} place=$doc:$(cat "${cmd%.cmd}.line")
        # This is what runs us.
        [ "$(cat "$cmd")" != "make check" ] || continue
        (cd "$tree" && PATH=$path timeout 300 sh "$cmd" </dev/null >"$base.out" 2>&1)
        code=$?
        if [ $code -ne 0 ]; then
            echo "FAIL docs $place: exit $code: $(cat "$cmd")"
            sed 's/^/    /;20q' "$base.out"
            failed=$((failed + 1))
        elif [ -s "$base.want" ] && ! matches "$base.want" "$base.out"; then
            echo "FAIL docs $place: prints something else: $(cat "$cmd")"
            diff -u --label "$doc" --label now "$base.want" "$base.out" | sed 's/^/    /;60q'
            failed=$((failed + 1))
        else
            passed=$((passed + 1))
        fi
    done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
