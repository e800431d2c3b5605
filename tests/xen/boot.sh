#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Xen host for tests: boots Debian's hypervisor and kernel under QEMU (software emulation, no
# KVM), runs a script in dom0 as root and brings back what it left in /tmp/out.
# In: the script, our programs from $O (default build).  Out: OUTDIR, with console.log beside.
#
#   tests/xen/boot.sh SCRIPT OUTDIR [FILE ...]
#   tests/xen/boot.sh --install      only what the rig needs of Debian's packages
#
# Programs of ours, the examples, xentrace and every FILE stand in dom0's /bin, busybox gives the
# rest.  Exit status: that of the script; 124 the time was over; 125 no Xen came up.
# Variables: O, XEN_OPTIONS (appended to Xen's command line), DOM0_OPTIONS (to the kernel's),
# RIG_CPU_FLAGS (for QEMU's -cpu), RIG_KERNEL_AS (dom0's kernel stands in its /bin by this name),
# RIG_TIMEOUT (seconds, default 600), RIG_CPUS (default 2), RIG_CACHE (default $O/rig).
set -eu
[ "${1:-}" = --install ] || [ $# -ge 2 ] || { echo "usage: $0 SCRIPT OUTDIR [FILE ...]" >&2; exit 2; }
cd "$(dirname "$0")/../.."
build=${O:-build} script=$1 out=${2:-}
shift
[ "$script" = --install ] || shift
[ "$script" = --install ] || [ -r "$script" ] || { echo "$0: cannot read $script" >&2; exit 2; }
cache=${RIG_CACHE:-$build/rig}
xen_version=4.17
mkdir -p "$cache"

# What the rig itself needs; Xen and the kernel are unpacked below the cache, not installed.
need=
command -v qemu-system-x86_64 >/dev/null || need="$need qemu-system-x86"
command -v cpio >/dev/null || need="$need cpio"
[ -x /usr/lib/xen-$xen_version/bin/xentrace ] || need="$need xen-utils-$xen_version"
busybox=$(command -v busybox || true)
[ -n "$busybox" ] && ! ldd "$busybox" >/dev/null 2>&1 || need="$need busybox-static"
if [ -n "$need" ]; then
	[ "$(id -u)" = 0 ] || { echo "$0: missing; as root: apt-get install$need" >&2; exit 125; }
	apt-get update -qq >&2 || true
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >&2
	busybox=$(command -v busybox)
fi
[ "$script" != --install ] || exit 0
mkdir -p "$out"
if [ ! -e "$cache/unpacked" ]; then
	image() {
		apt-cache depends linux-image-amd64 2>/dev/null |
			sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1
	}
	# lists that are missing or old name packages that are not there any more
	apt-get update -qq >&2 || true
	image=$(image)
	[ -n "$image" ] || { echo "$0: apt knows no linux-image-amd64" >&2; exit 125; }
	rm -rf "$cache/deb" "$cache/pkg"
	mkdir -p "$cache/deb" "$cache/pkg"
	(cd "$cache/deb" && apt-get download -qq "$image" xen-hypervisor-$xen_version-amd64) >&2
	for deb in "$cache"/deb/*.deb; do dpkg -x "$deb" "$cache/pkg"; done
	# QEMU takes a multiboot kernel only unpacked
	zcat "$cache/pkg/boot/xen-$xen_version-amd64.gz" >"$cache/xen"
	rm -rf "$cache/deb"
	touch "$cache/unpacked"
fi
kernel=$(ls "$cache"/pkg/boot/vmlinuz-* | head -n 1)

work=$(mktemp -d "${TMPDIR:-/tmp}/xenfault-rig.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,modules,proc,sys,dev,tmp,run}
cp "$busybox" "$root/bin/busybox"

add() { # a file for /bin, with the libraries it is linked with
	cp -L "$1" "$root/bin/"
	{ ldd "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$root$(dirname "$library")"
		cp -Ln "$library" "$root$library"
	done
}
for file in "$build"/xenfault "$build"/xenfault-drain "$build"/examples/* \
	/usr/lib/xen-$xen_version/bin/xentrace "$@"; do
	if [ -f "$file" ]; then add "$file"; fi
done
[ -z "${RIG_KERNEL_AS:-}" ] || cp "$kernel" "$root/bin/$RIG_KERNEL_AS"
for terminal in l/linux v/vt100 x/xterm; do
	for folder in /lib/terminfo /usr/share/terminfo; do
		[ ! -e "$folder/$terminal" ] || install -D "$folder/$terminal" "$root/lib/terminfo/$terminal"
	done
done
# loaded by pthread_exit() at run time only
for library in /lib/x86_64-linux-gnu/libgcc_s.so.1; do
	if [ -e "$library" ]; then
		mkdir -p "$root$(dirname "$library")"
		cp -Ln "$library" "$root$library"
	fi
done

# dom0 has no disk driver built in; the order is that of their dependencies
n=10
for module in crct10dif_common crc-t10dif crc64 crc64-rocksoft t10-pi scsi_common scsi_mod libata \
	libahci ahci sd_mod xen-privcmd xen-evtchn xen-gntdev xenfs; do
	find "$cache/pkg/lib/modules" -name "$module.ko*" -exec cp {} "$root/modules/$n-$module.ko" \;
	n=$((n + 1))
done
cp "$script" "$root/script"
cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mkdir -p /sbin
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /dev/pts /tmp/out
ln -s /proc/self/fd /dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -s fd/${n%:*} /dev/${n#*:}; done
mount -t devpts pts /dev/pts
for module in /modules/*.ko; do insmod "$module"; done
mount -t xenfs xenfs /proc/xen
tries=0
while [ ! -b /dev/sda ] && [ $tries -lt 100 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
echo "=== dom0 $(uname -r), $(nproc) vCPUs, $(cut -d ' ' -f 1 /proc/uptime) s"
cd /tmp/out
sh /script
echo $? >/tmp/out/status
echo "=== script ended with $(cat /tmp/out/status), $(cut -d ' ' -f 1 /proc/uptime) s"
tar cf - . >/dev/sda
sync
echo "=== done"
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"
truncate -s 1G "$work/disk"

# SMAP and SMEP: this QEMU's emulation of them crashes a PV dom0 at its first return to user mode
rm -f "$out/status"
timeout "${RIG_TIMEOUT:-600}" qemu-system-x86_64 -machine q35 -accel tcg,thread=multi \
	-cpu "max,-smap,-smep,-pku,-la57${RIG_CPU_FLAGS:-}" -smp "${RIG_CPUS:-2}" -m 3072 -display none -monitor none \
	-serial "file:$out/console.log" -no-reboot -net none ${RIG_QEMU:-} \
	-drive "file=$work/disk,format=raw,if=none,id=results" -device ich9-ahci,id=ahci \
	-device ide-hd,drive=results,bus=ahci.0 -kernel "$cache/xen" \
	-append "console=com1 com1=115200,8n1 dom0_mem=1536M dom0_max_vcpus=${RIG_CPUS:-2} noreboot \
${XEN_OPTIONS:-}" \
	-initrd "$kernel console=hvc0 quiet rdinit=/init ${DOM0_OPTIONS:-},$work/initrd" </dev/null ||
	[ $? -ne 124 ] || { echo "$0: time over; see $out/console.log" >&2; exit 124; }
grep -q '=== done' "$out/console.log" ||
	{ echo "$0: dom0 did not finish; see $out/console.log" >&2; exit 125; }
tar xf "$work/disk" -C "$out"
exit "$(cat "$out/status")"
