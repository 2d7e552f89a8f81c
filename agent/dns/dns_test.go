package dns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// The node's file is read again for each pod. If it cannot be read, a pod gets its configuration without it.
func TestOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resolv.conf")
	r := Resolver{ResolvConf: file, ClusterDNS: []string{"10.96.0.10"}, ClusterDomain: "cluster.local", NodeIPs: []string{"192.0.2.1"}}
	pod := &v1.Pod{Spec: v1.PodSpec{DNSPolicy: v1.DNSDefault}}
	cfg, warnings := r.Of(pod)
	if len(warnings) != 1 || warnings[0].Reason != "CheckLimitsForResolvConf" || !strings.HasPrefix(warnings[0].Message, file+": ") || cfg == nil {
		t.Errorf("without a file: got %v, warnings %+v, want one that names the file", cfg, warnings)
	}
	for _, want := range []string{"192.0.2.53", "192.0.2.54"} {
		if err := os.WriteFile(file, []byte("nameserver "+want+"\nsearch example.org\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, warnings := r.Of(pod)
		if diff := cmp.Diff([]string{want}, cfg.GetServers()); diff != "" || len(warnings) > 0 {
			t.Errorf("warnings %+v; servers (-want +got)\n%s", warnings, diff)
		}
	}
	pod.Spec.DNSPolicy = v1.DNSClusterFirst
	r.ResolvConf = ""
	if cfg, _ := r.Of(pod); !cmp.Equal(cfg.GetServers(), r.ClusterDNS) {
		t.Errorf("ClusterFirst: got servers %q, want %q", cfg.GetServers(), r.ClusterDNS)
	}
}
