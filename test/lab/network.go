package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// firstSubnet is slot 0's; slot n has 10.(88+n).0.0/16.
const (
	firstSubnet       = 88
	slots             = 160
	firstRegistryPort = 25000
	firstOTLPPort     = 24318
)

func slotSubnet(slot int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(firstSubnet + slot), 0, 0}), 16)
}

// pickSlot returns the first slot whose subnet overlaps no taken network and
// whose ports are free.
func pickSlot(taken []netip.Prefix, portFree func(port int) bool) (int, error) {
next:
	for slot := range slots {
		for _, t := range taken {
			if t.Overlaps(slotSubnet(slot)) {
				continue next
			}
		}
		if portFree(firstRegistryPort+slot) && portFree(firstOTLPPort+slot) {
			return slot, nil
		}
	}
	return 0, errors.New("no subnet from 10.88.0.0/16 up with a free port is left for another lab")
}

// takenNetworks lists the networks that the host's routes and addresses use,
// but not the default route.
func takenNetworks() ([]netip.Prefix, error) {
	var taken []netip.Prefix
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			taken = append(taken, p.Masked())
		}
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, err
	}
	return append(taken, parseRoutes(string(routes))...), nil
}

// parseRoutes reads /proc/net/route, whose numbers are little-endian.
func parseRoutes(text string) []netip.Prefix {
	var list []netip.Prefix
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		var dst, mask uint32
		if _, err := fmt.Sscanf(f[1]+" "+f[7], "%x %x", &dst, &mask); err != nil || mask == 0 {
			continue
		}
		le := func(v uint32) [4]byte { return [4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)} }
		m := le(mask)
		bits, _ := net.IPMask(m[:]).Size()
		list = append(list, netip.PrefixFrom(netip.AddrFrom4(le(dst)), bits).Masked())
	}
	return list
}

func portFree(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// networkName is also in the comments of portmap's rules.
func networkName(id string) string { return "kubeloupe-" + id }

func bridgeName(id string) string { return "klbr" + id }

// cniConfig is the lab's pod network: a bridge of its own, and host ports. CRI-O would ask the plugins to check each network: the bridge's
// address changes with its ports, which its plugin takes for an error.
func cniConfig(dir string, s *state) string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": %q,
  "disableCheck": true,
  "plugins": [
    {
      "type": "bridge", "bridge": %q, "isGateway": true, "ipMasq": false, "hairpinMode": true,
      "ipam": {
        "type": "host-local", "dataDir": %q,
        "ranges": [[{"subnet": %q, "gateway": %q}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}, "snat": true, "backend": "iptables"}
  ]
}
`, networkName(s.ID), bridgeName(s.ID), filepath.Join(dir, "ipam"), s.Subnet, s.Gateway)
}

// portmapChains are shared by all users of the portmap plugin on a host.
var portmapChains = []struct{ chain, parents string }{
	{"CNI-HOSTPORT-DNAT", "PREROUTING OUTPUT"},
	{"CNI-HOSTPORT-MASQ", "POSTROUTING"},
	{"CNI-HOSTPORT-SETMARK", ""},
}

// hasPortmapChains reports whether portmap was used on this host before.
func hasPortmapChains(ctx context.Context) bool {
	return exec.CommandContext(ctx, "iptables", "-w", "-t", "nat", "-n", "-L", portmapChains[0].chain).Run() == nil
}

// cleanPortmap removes the rules of pods that CNI could not remove, and, with
// shared, portmap's own chains once nobody uses them.
func cleanPortmap(ctx context.Context, id string, shared bool) error {
	saved, err := exec.CommandContext(ctx, "iptables-save", "-t", "nat").Output()
	if err != nil {
		return nil // no iptables: portmap never ran
	}
	var errs []error
	for _, args := range portmapCleanup(string(saved), networkName(id), shared) {
		if out, err := exec.CommandContext(ctx, "iptables", append([]string{"-w", "-t", "nat"}, args...)...).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("iptables -t nat %s: %w: %s", strings.Join(args, " "), err, out))
		}
	}
	return errors.Join(errs...)
}

// cleanAbandoned removes the rules of labs that were killed and whose bridges
// are gone: the first rule for a port counts, so theirs would lead the ports of
// later labs nowhere.
func cleanAbandoned(ctx context.Context) error {
	saved, err := exec.CommandContext(ctx, "iptables-save", "-t", "nat").Output()
	if err != nil {
		return nil // no iptables: portmap never ran
	}
	var errs []error
	for _, id := range portmapLabs(string(saved)) {
		if _, err := net.InterfaceByName(bridgeName(id)); err != nil {
			errs = append(errs, cleanPortmap(ctx, id, false))
		}
	}
	return errors.Join(errs...)
}

// portmapLabs lists the labs that a saved nat table has rules of.
func portmapLabs(saved string) []string {
	var ids []string
	for _, m := range ruleOfLab.FindAllStringSubmatch(saved, -1) {
		if !slices.Contains(ids, m[1]) {
			ids = append(ids, m[1])
		}
	}
	return ids
}

var ruleOfLab = regexp.MustCompile(`name: \\"` + networkName("([0-9a-f]{8})") + `\\" `)

// portmapCleanup returns the iptables arguments that remove one network's rules
// from a saved nat table.
func portmapCleanup(saved, network string, shared bool) [][]string {
	var rules, chains, links [][]string
	present := make(map[string]bool)
	others := false
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, ":"); ok {
			present[strings.Fields(name)[0]] = true
		}
		rule, ok := strings.CutPrefix(line, "-A ")
		if !ok {
			continue
		}
		f := splitRule(rule)
		target := ""
		for i, word := range f {
			if word == "-j" && i+1 < len(f) {
				target = f[i+1]
			}
		}
		switch {
		case !strings.HasPrefix(target, "CNI-DN-"):
		case strings.Contains(rule, `name: \"`+network+`\" `):
			rules = append(rules, append([]string{"-D"}, f...))
			chains = append(chains, []string{"-F", target}, []string{"-X", target})
		default:
			others = true
		}
		for _, c := range portmapChains {
			if target == c.chain && strings.Contains(" "+c.parents+" ", " "+f[0]+" ") {
				links = append(links, append([]string{"-D"}, f...))
			}
		}
	}
	out := append(rules, chains...)
	if !shared || others {
		return out
	}
	out = append(out, links...)
	for _, c := range portmapChains {
		if present[c.chain] {
			out = append(out, []string{"-F", c.chain})
		}
	}
	for _, c := range portmapChains {
		if present[c.chain] {
			out = append(out, []string{"-X", c.chain})
		}
	}
	return out
}

// splitRule splits a saved rule into words, of which some are quoted.
func splitRule(rule string) []string {
	var words []string
	var word strings.Builder
	quoted, open := false, false
	for i := 0; i < len(rule); i++ {
		switch c := rule[i]; {
		case c == '\\' && i+1 < len(rule):
			i++
			word.WriteByte(rule[i])
		case c == '"':
			quoted = !quoted
			open = true
		case c == ' ' && !quoted:
			if word.Len() > 0 || open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(c)
		}
	}
	if word.Len() > 0 || open {
		words = append(words, word.String())
	}
	return words
}

// removeCNICache removes what libcni remembers of the network's pods, which
// has one fixed place on a host.
func removeCNICache(id string) error {
	const dir = "/var/lib/cni/results"
	prefix := networkName(id) + "-"
	own, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range own {
		pod, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
		loopback, _ := filepath.Glob(filepath.Join(dir, "cni-loopback-"+pod+"-*"))
		for _, p := range append(loopback, path) {
			errs = append(errs, os.Remove(p))
		}
	}
	return errors.Join(errs...)
}
