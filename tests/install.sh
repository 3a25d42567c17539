#!/bin/sh
# Installs, builds programs against what was installed, uninstalls: install.sh BUILD. The last line is "N passed, M failed".
set -u
build=$1 passed=0 failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS
prefix=$tmp/prefix

# check WHAT COMMAND...
check()
{
    what=$1
    shift
    if "$@" >"$tmp/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL install: $what"
        sed 's/^/    /' "$tmp/log" | tail -n 30
    fi
}

cat >"$tmp/main.c" <<-'END'
	#include <sactag.h>
	#include <stdio.h>
	#include <string.h>
	int main(int argc, char **argv)
	{
	    sactag_model *m = NULL;
	    struct sactag_info info;
	    if (strcmp(sactag_version(), SACTAG_VERSION) || argc < 2 || sactag_open(&m, argv[1], NULL, NULL))
	        return 1;
	    sactag_get_info(m, &info);
	    printf("%s\n", info.format);
	    sactag_close(m);
	    return strcmp(info.format, "onnx") != 0;
	}
END
cat >"$tmp/CMakeLists.txt" <<-'END'
	cmake_minimum_required(VERSION 3.10)
	project(user C)
	find_package(sactag 0.1 REQUIRED)
	add_executable(shared main.c)
	target_link_libraries(shared sactag::sactag)
	add_executable(static main.c)
	target_link_libraries(static sactag::static)
	add_executable(embed embed.c)
	target_link_libraries(embed sactag::sactag)
END
cp examples/embed.c "$tmp"
model=$(realpath tests/cases/toy/model_train.onnx)
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"

check "make install" make BUILD="$build" PREFIX="$prefix" install
check "the program" "$prefix/bin/sactag" --version
check "the manual" mandoc -T lint -W warning "$prefix/share/man/man1/sactag.1"
check "pkg-config, shared" sh -c 'cc -o "$0/shared" "$0/main.c" $(pkg-config --cflags --libs sactag) -Wl,-rpath,"$1/lib"' "$tmp" "$prefix"
check "a program with the shared library" "$tmp/shared" "$model"
check "it uses libsactag.so.0" sh -c 'ldd "$0" | grep -q "libsactag.so.0 => $1/lib"' "$tmp/shared" "$prefix"
check "pkg-config, static" sh -c 'cc -o "$0/static" "$0/main.c" $(pkg-config --cflags sactag) "$1/lib/libsactag.a" \
    $(pkg-config --static --libs-only-l sactag | sed "s/-lsactag//")' "$tmp" "$prefix"
check "a program with the static library" "$tmp/static" "$model"
check "cmake" cmake -S "$tmp" -B "$tmp/cmake" -DCMAKE_PREFIX_PATH="$prefix"
check "cmake --build" cmake --build "$tmp/cmake"
check "the cmake programs" sh -c '"$0/shared" "$1" && "$0/static" "$1"' "$tmp/cmake" "$model"
check "a buffer in memory is tagged as the program does" sh -c '"$0/cmake/embed" examples/moe.onnx "$0/embed.onnx" &&
    "$1/bin/sactag" tag examples/moe.onnx -o - --fqn moe.router.gate -q | cmp - "$0/embed.onnx"' "$tmp" "$prefix"
check "make uninstall" make BUILD="$build" PREFIX="$prefix" uninstall
check "uninstall removes every file and folder" sh -c '! ls -d "$0"' "$prefix"
mkdir -p "$prefix/bin" "$prefix/share/doc"
check "make install again" make BUILD="$build" PREFIX="$prefix" install
check "and once more over it" make BUILD="$build" PREFIX="$prefix" install
check "make uninstall again" make BUILD="$build" PREFIX="$prefix" uninstall
check "uninstall leaves the folders of others" test "$(cd "$prefix" && find . | sort | tr '\n' ' ')" = ". ./bin ./share ./share/doc "
check "DESTDIR" make BUILD="$build" PREFIX=/usr DESTDIR="$tmp/dest" install
check "nothing names DESTDIR" sh -c '! grep -rl "$0" "$0/dest/usr/lib/pkgconfig" "$0/dest/usr/lib/cmake"' "$tmp"
check "a staging tree holds no list of folders" sh -c '! find "$0" -name made-folders | grep .' "$tmp/dest"
check "nothing is installed outside PREFIX" test "$(ls "$tmp/dest")" = usr
# A folder's name may hold a space. What the name's first word alone would name belongs to somebody else.
echo mine | tee "$tmp/two" >"$tmp/stage"
spaced="$tmp/two words/sactag"
check "make install where a name holds a space" make BUILD="$build" PREFIX="$spaced" install
check "the program there" "$spaced/bin/sactag" --version
check "pkg-config there" env PKG_CONFIG_PATH="$spaced/lib/pkgconfig" sh -c 'eval "cc -o \"\$0/spaced\" \"\$0/main.c\" $(
    pkg-config --cflags --libs sactag)" && LD_LIBRARY_PATH="$1/lib" "$0/spaced" "$2"' "$tmp" "$spaced" "$model"
check "make uninstall there" make BUILD="$build" PREFIX="$spaced" uninstall
check "it leaves nothing there" sh -c '! ls -d "$0"' "$tmp/two words"
check "DESTDIR with a space" make BUILD="$build" PREFIX=/usr DESTDIR="$tmp/stage two" install
check "the program in it" "$tmp/stage two/usr/bin/sactag" --version
check "uninstall from it" make BUILD="$build" PREFIX=/usr DESTDIR="$tmp/stage two" uninstall
check "nobody else's files were touched" test "$(cat "$tmp/two" "$tmp/stage" | tr '\n' ' ')" = "mine mine "
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
