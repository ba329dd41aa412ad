#!/bin/bash
# Brings a llama-server into a folder of its own and prints the path of a wrapper that starts it.
#
#   .ci/llama-server.sh DIR
#
# Debian packages a current llama.cpp only in its coming releases. The packages and the C library that
# they were built against are unpacked below DIR; nothing is installed, no file of the machine changes,
# and root is not needed. The mirror and its key are those of the machine's own Debian source entry, so
# this works wherever apt works. A second call finds the wrapper and returns at once.
set -eu -o pipefail

fail() {
    echo "llama-server.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] && [ -n "$1" ] || fail "usage: llama-server.sh DIR"
[ -r /etc/os-release ] || fail "no /etc/os-release: this is not a Debian machine"
for tool in apt-get apt-cache dpkg flock awk; do
    command -v "$tool" >/dev/null || fail "$tool is missing: this needs a Debian machine"
done
[ "$(dpkg --print-architecture)" = amd64 ] || fail "only amd64 is supported, this machine is $(dpkg --print-architecture)"

mkdir -p "$1" || fail "cannot create $1"
dir=$(cd "$1" && pwd)
wrapper=$dir/llama-server

# Two test runs may ask for the same folder at once.
exec 9>"$dir/.lock"
flock 9

works() { # the wrapper starts and says its version
    write_wrapper && "$wrapper" --version >"$dir/version.txt" 2>&1
}

# The folder is moved, so the CPU backend that ggml would look for has to be named. Threads that wait sleep instead of spinning: with several
# servers on few cores, spinning made prompts three and a half times slower.
write_wrapper() {
    cat >"$wrapper.new" <<'WRAPPER' && chmod 755 "$wrapper.new" && mv "$wrapper.new" "$wrapper"
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
libs=$here/root/usr/lib/x86_64-linux-gnu
cpu=x64
if grep -qw avx2 /proc/cpuinfo && [ -e "$libs/ggml/backends0/libggml-cpu-haswell.so" ]; then
    cpu=haswell
fi
export GGML_BACKEND_PATH="$libs/ggml/backends0/libggml-cpu-$cpu.so"
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
exec "$libs/ld-linux-x86-64.so.2" --library-path "$libs:$libs/ggml:$libs/llama" "$here/root/usr/bin/llama-server" "$@"
WRAPPER
}

if [ -d "$dir/root" ] && works; then
    echo "$wrapper"
    exit 0
fi

packages="llama.cpp-tools libllama0 libggml0 libc6 libstdc++6 libgcc-s1 libgomp1 libssl3t64 libzstd1 zlib1g"
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$codename" ] || fail "/etc/os-release names no release"

# find_entry SUITE prints the machine's own source entry for its release with the suite replaced. The
# format of the output follows the format found: a deb822 stanza, or one line.
find_entry() {
    local suite=$1 file
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -r "$file" ] || continue
        awk -v code="$codename" -v suite="$suite" '
            BEGIN { RS = ""; FS = "\n" }
            found { next }
            {
                ours = 0; main = 0; deb = 0; off = 0; out = ""; skip = 0
                for (i = 1; i <= NF; i++) {
                    line = $i
                    if (line ~ /^#/) continue
                    lower = tolower(line)
                    if (line ~ /^[ \t]/) {           # continuation of the field above
                        if (!skip) out = out line "\n"
                        continue
                    }
                    skip = 0
                    n = split(line, w, /[ \t]+/)
                    if (lower ~ /^types:/) {
                        for (j = 2; j <= n; j++) if (w[j] == "deb") deb = 1
                        out = out "Types: deb\n"; skip = 1
                    } else if (lower ~ /^suites:/) {
                        for (j = 2; j <= n; j++) if (w[j] == code || w[j] == "stable" || w[j] == "oldstable") ours = 1
                        out = out "Suites: " suite "\n"; skip = 1
                    } else if (lower ~ /^components:/) {
                        for (j = 2; j <= n; j++) if (w[j] == "main") main = 1
                        out = out "Components: main\n"; skip = 1
                    } else {
                        if (lower ~ /^enabled:[ \t]*no/) off = 1
                        out = out line "\n"
                    }
                }
                if (ours && main && deb && !off) { printf "%s", out; found = 1 }
            }
            END { exit !found }
        ' "$file" >"$state/debian.sources" && return 0
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -r "$file" ] || continue
        awk -v code="$codename" -v suite="$suite" '
            found || $1 != "deb" { next }
            {
                sub(/#.*/, "")
                options = ""; i = 2
                if ($2 ~ /^\[/) {
                    do { options = options " " $i } while ($i !~ /\]$/ && ++i <= NF)
                    i++
                }
                main = 0
                for (j = i + 2; j <= NF; j++) if ($j == "main") main = 1
                if (!main || ($(i + 1) != code && $(i + 1) != "stable" && $(i + 1) != "oldstable")) next
                print "deb" options " " $i " " suite " main"
                found = 1
            }
            END { exit !found }
        ' "$file" >"$state/debian.list" && return 0
    done
    return 1
}

state=$dir/.apt
rm -rf "$state" "$dir/root.new"
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/debs" "$dir/root.new"

done_with=
for suite in forky sid; do
    rm -f "$state"/debian.*
    find_entry "$suite" || fail "no Debian source entry for $codename with the component main in /etc/apt"
    source=$state/debian.sources
    [ -s "$source" ] || source=$state/debian.list
    # apt decides by the name of the file which format it reads.
    apt_options=(
        -qq
        -oDir::State::Lists="$state/lists"
        -oDir::State::status=/dev/null
        -oDir::Etc::SourceList="$source"
        -oDir::Etc::SourceParts=/dev/null
        -oDir::Cache="$state/cache"
        -oAPT::Sandbox::User=root
        -oAcquire::Languages=none
        -oAcquire::Retries=3
    )
    if ! apt-get "${apt_options[@]}" update >"$state/log" 2>&1; then
        echo "llama-server.sh: apt-get update for $suite failed:" >&2
        cat "$state/log" >&2
        continue
    fi
    # shellcheck disable=SC2086
    if ! (cd "$state/debs" && rm -f ./*.deb && apt-get "${apt_options[@]}" download $packages) >"$state/log" 2>&1; then
        echo "llama-server.sh: download from $suite failed:" >&2
        cat "$state/log" >&2
        continue
    fi
    done_with=$suite
    break
done
[ -n "$done_with" ] || fail "neither forky nor sid could give the packages"

for deb in "$state"/debs/*.deb; do
    dpkg -x "$deb" "$dir/root.new" || fail "cannot unpack $deb"
done
rm -rf "$dir/root" "$state"
mv "$dir/root.new" "$dir/root"

libs=$dir/root/usr/lib/x86_64-linux-gnu
[ -x "$dir/root/usr/bin/llama-server" ] || fail "the packages hold no usr/bin/llama-server"
[ -e "$libs/ld-linux-x86-64.so.2" ] || fail "the packages hold no dynamic loader"

works || {
    cat "$dir/version.txt" >&2
    fail "the unpacked llama-server does not start"
}
echo "llama-server.sh: from $done_with: $(grep -m1 version "$dir/version.txt" || head -1 "$dir/version.txt")"
echo "$wrapper"
