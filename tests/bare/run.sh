#!/bin/sh
# README's promise, kept: a fresh Debian 12 with git, make and gcc only, without package lists, on which the first
# command ever run is `make demo` or `make check` in a clone of this repository. Not part of `make check`: it needs
# root, debootstrap, a mirror and some minutes.
#
#     tests/bare/run.sh TARGET [DIR]      DIR (default: $TMPDIR/sactag-bare) keeps the base system for the next time
set -eu
target=$1 dir=${2-${TMPDIR-/tmp}/sactag-bare}
repo=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$dir"
if [ ! -e "$dir/base.tar" ]; then
    debootstrap --variant=minbase --include=git,make,gcc,ca-certificates bookworm "$dir/base" >"$dir/debootstrap.log"
    rm -rf "$dir"/base/var/lib/apt/lists/* "$dir"/base/var/cache/apt/archives/*.deb
    tar -C "$dir/base" -cf "$dir/base.tar" .
    rm -rf "$dir/base"
fi
root=$dir/root.$$
mkdir "$root"
finish()
{
    umount "$root/dev/shm" "$root/proc" 2>/dev/null || true
    mountpoint -q "$root/proc" || mountpoint -q "$root/dev/shm" || rm -rf "$root"
}
trap finish EXIT
tar -C "$root" -xf "$dir/base.tar"
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm"
mount -t tmpfs shm "$root/dev/shm"
cp /etc/resolv.conf "$root/etc/resolv.conf"
git clone -q --no-hardlinks "$repo" "$root/sactag"
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb make -C /sactag "$target"
