package snapshot

import (
	"encoding/hex"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// network shows the interfaces, addresses and routes of the namespace that the pod's first process is
// in, as the kernel shows them to that process. Of the node's own namespace it shows nothing more.
func (t *Taker) network(pids map[int]string) []string {
	own, err := os.Readlink(filepath.Join(t.cfg.ProcMount, "self", "ns", "net"))
	if err != nil {
		return nil
	}
	for _, pid := range slices.Sorted(maps.Keys(pids)) {
		dir := filepath.Join(t.cfg.ProcMount, strconv.Itoa(pid))
		ns, err := os.Readlink(filepath.Join(dir, "ns", "net"))
		switch {
		case err != nil:
			continue // it has just exited
		case ns == own:
			return []string{"netns of the node"}
		}
		out := append([]string{"netns id " + ns}, interfaces(filepath.Join(dir, "net"))...)
		if len(out) > maxEntries {
			out = append(out[:maxEntries], more("interfaces, addresses and routes"))
		}
		return out
	}
	return nil
}

// interfaces reads /proc/PID/net.
func interfaces(dir string) []string {
	var out []string
	for _, f := range table(dir, "dev", 2) {
		name, _, _ := strings.Cut(f[0], ":")
		out = append(out, "interface "+name)
	}
	slices.Sort(out)
	out = append(out, addresses4(dir)...)
	for _, f := range table(dir, "if_inet6", 0) {
		if len(f) == 6 {
			if a, ok := addr6(f[0]); ok {
				bits, _ := strconv.ParseUint(f[2], 16, 8)
				out = append(out, "address "+a.String()+"/"+strconv.FormatUint(bits, 10)+" "+f[5])
			}
		}
	}
	return append(out, routes(dir)...)
}

// table returns the fields of each line of a file, without the first lines.
func table(dir, file string, skip int) [][]string {
	p, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil
	}
	var out [][]string
	for line := range strings.Lines(string(p)) {
		if skip--; skip >= 0 {
			continue
		}
		if f := strings.Fields(line); len(f) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// addresses4 returns the local addresses in fib_trie, where the line after an address is its type.
func addresses4(dir string) []string {
	found := map[string]bool{}
	last := ""
	for _, f := range table(dir, "fib_trie", 0) {
		switch {
		case f[0] == "|--" && len(f) > 1:
			last = f[1]
		case f[0] == "/32" && len(f) > 2 && f[1] == "host" && f[2] == "LOCAL" && last != "":
			found["address "+last] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// routes returns the IPv4 routes.
func routes(dir string) []string {
	var out []string
	for _, f := range table(dir, "route", 1) {
		if len(f) < 8 {
			continue
		}
		to, ok1 := addr4(f[1])
		via, ok2 := addr4(f[2])
		mask, ok3 := addr4(f[7])
		if !ok1 || !ok2 || !ok3 {
			continue
		}
		line := "route " + to.String() + "/" + strconv.Itoa(ones(mask))
		if f[1] == "00000000" && f[7] == "00000000" {
			line = "route default"
		}
		if !via.IsUnspecified() {
			line += " via " + via.String()
		}
		out = append(out, line+" "+f[0])
	}
	return out
}

// addr4 parses an address as the kernel prints it on a little-endian machine.
func addr4(s string) (netip.Addr, bool) {
	p, err := hex.DecodeString(s)
	if err != nil || len(p) != 4 {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte{p[3], p[2], p[1], p[0]}), true
}

func addr6(s string) (netip.Addr, bool) {
	p, err := hex.DecodeString(s)
	if err != nil {
		return netip.Addr{}, false
	}
	return netip.AddrFromSlice(p)
}

// ones returns the prefix length of a mask.
func ones(mask netip.Addr) int {
	n := 0
	for _, b := range mask.As4() {
		for ; b != 0; b <<= 1 {
			n++
		}
	}
	return n
}
