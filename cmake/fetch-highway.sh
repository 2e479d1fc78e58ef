#!/usr/bin/env bash
# Puts the source of Highway 1.2 into DIR: Debian's own source package, from the mirror this machine already uses.
# For Debian releases whose libhwy-dev is older than 1.2. Touches no system list, needs no root, does nothing when DIR is there.
set -euo pipefail

readonly dir=${1:?usage: fetch-highway.sh DIR}
readonly suite=trixie version=1.2  # the first Debian release with a Highway we can use
readonly keyring=/usr/share/keyrings/debian-archive-keyring.gpg

[[ -f $dir/hwy/highway.h ]] && exit 0
command -v apt-get >/dev/null || { echo "fetch-highway: no apt-get here" >&2; exit 1; }
[[ -r $keyring ]] || { echo "fetch-highway: $keyring is missing (package debian-archive-keyring)" >&2; exit 1; }

# The mirrors of the machine's own lists; without downloaded lists the origin is unknown, so try all of them.
mirrors=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' | sort -u)
[[ -n $mirrors ]] || mirrors=$(apt-get indextargets --format '$(REPO_URI)' | sort -u)

# Beside DIR, so that the last step is one rename and an interrupted run leaves nothing half done.
parent=$(realpath -m "$dir/..")
mkdir -p "$parent"
work=$(mktemp -d "$parent/.fetch-highway.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,cache/archives}/partial "$work"/{download,source}

private_apt() {
  (cd "$work/download" && apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=2 "$@")
}

for mirror in $mirrors; do
  echo "deb-src [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
  private_apt update >"$work/log" 2>&1 && private_apt source --download-only highway >>"$work/log" 2>&1 && break
done
if ! compgen -G "$work/download/highway_$version*.orig.tar.*" >/dev/null; then
  echo "fetch-highway: no Highway $version source package from this machine's mirrors:" >&2
  tail -n 5 "$work/log" >&2 || true
  exit 1
fi

tar -xf "$work"/download/highway_"$version"*.orig.tar.* --strip-components=1 -C "$work/source"
rm -rf "$dir"
mv -T "$work/source" "$dir"
