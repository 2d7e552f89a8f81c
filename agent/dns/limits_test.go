package dns

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestProblem(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resolv.conf")
	many := func(n, length int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%02d%s", i, strings.Repeat("x", length-2)))
		}
		return "search " + strings.Join(all, " ") + "\n"
	}
	for _, c := range []struct{ name, domain, text, want string }{
		{"fine", "cluster.local", many(29, 10), ""},
		{"too many with those of the cluster", "cluster.local", many(30, 10), "Resolv.conf file '" + file + "' contains search line consisting of more than 29 domains!"},
		{"as many as can be", "", many(32, 10), ""},
		{"too many", "", many(33, 10), "Resolv.conf file '" + file + "' contains search line consisting of more than 32 domains!"},
		{"longest", "", many(1, 253), ""},
		{"too long", "", many(1, 254), `Resolv.conf file "` + file + `" contains a search path which length is more than allowed 253 chars!`},
		{"longest line", "", many(9, 227) /* 9 × 227 + 8 = 2051 */, "Resolv.conf file '" + file + "' contains search line which length is more than allowed 2048 chars!"},
		{"line", "", many(9, 226), ""},
		{"broken", "", "nameserver\n", "resolvConf " + file + ": "},
	} {
		write(t, file, c.text)
		got := Resolver{ResolvConf: file, ClusterDomain: c.domain}.Problem()
		if c.name == "broken" {
			got = got[:min(len(got), len(c.want))]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := (Resolver{}).Problem(); got != "" {
		t.Errorf("no file: %q", got)
	}
	if got := (Resolver{ResolvConf: file + ".none"}).Problem(); !strings.Contains(got, file) {
		t.Errorf("missing: %q", got)
	}
}
