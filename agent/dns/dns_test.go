package dns

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// The node's file is read again for each pod.
func TestOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resolv.conf")
	r := Resolver{ResolvConf: file, ClusterDNS: []string{"10.96.0.10"}, ClusterDomain: "cluster.local", NodeIPs: []string{"192.0.2.1"}}
	servers := func(policy v1.DNSPolicy) []string {
		t.Helper()
		cfg, warnings, err := r.Of(&v1.Pod{Spec: v1.PodSpec{DNSPolicy: policy}})
		if err != nil || len(warnings) > 0 {
			t.Errorf("warnings %+v, error %v", warnings, err)
		}
		return cfg.GetServers()
	}
	for _, want := range []string{"192.0.2.53", "192.0.2.54"} {
		write(t, file, "nameserver "+want+"\nsearch example.org\n")
		if got := servers(v1.DNSDefault); !slices.Equal(got, []string{want}) {
			t.Errorf("got servers %q, want %q", got, want)
		}
	}
	r.ResolvConf = os.DevNull
	if got := servers(v1.DNSDefault); len(got) > 0 {
		t.Errorf("with %s: got servers %q, want none", os.DevNull, got)
	}
	r.ResolvConf = ""
	if got := servers(v1.DNSDefault); !slices.Equal(got, []string{"127.0.0.1"}) {
		t.Errorf("without a file by configuration: got servers %q, want localhost", got)
	}
	if got := servers(v1.DNSClusterFirst); !slices.Equal(got, r.ClusterDNS) {
		t.Errorf("ClusterFirst: got servers %q, want %q", got, r.ClusterDNS)
	}
}

// A file that cannot be read or parsed is an error, not a file that is empty or not configured. That is true of each policy.
func TestOfBrokenFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "broken"), "search example.org\nnameserver\n")
	for _, name := range []string{"missing", "broken", "."} {
		file := filepath.Join(dir, name)
		r := Resolver{ResolvConf: file, ClusterDNS: []string{"10.96.0.10"}}
		for _, policy := range []v1.DNSPolicy{v1.DNSDefault, v1.DNSClusterFirst, v1.DNSClusterFirstWithHostNet, v1.DNSNone} {
			cfg, _, err := r.Of(&v1.Pod{Spec: v1.PodSpec{DNSPolicy: policy}})
			if err == nil || !strings.HasPrefix(err.Error(), "resolvConf") || !strings.Contains(err.Error(), file) {
				t.Errorf("%s, policy %s: got %v, error %v, want an error that names the file", name, policy, cfg, err)
			}
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
