package e2e

import (
	"testing"
)

// TestHostnames looks from inside at what pods ask to be called.
func TestHostnames(t *testing.T) {
	n := newNode(t)
	n.config = "clusterDomain: cluster.test\n"
	a := n.start()
	const fqdn = "web.shop.default.svc.cluster.test"
	for _, tc := range []struct{ name, spec, hostname, full string }{
		{"plain", "", n.pod("plain"), n.pod("plain")},
		{"named", "hostname: web", "web", "web"},
		{"sub", "hostname: web\n  subdomain: shop", "web", fqdn},
		{"fqdn", "hostname: web\n  subdomain: shop\n  setHostnameAsFQDN: true", fqdn, fqdn},
		{"override", "hostname: web\n  subdomain: shop\n  hostnameOverride: other.example.org", "other.example.org", "other.example.org"},
	} {
		n.put(tc.name+".yaml", `
apiVersion: v1
kind: Pod
metadata: {name: `+tc.name+`}
spec:
  `+tc.spec+`
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
		a.ready(tc.name)
		if got := n.exec(tc.name, "main", "hostname"); got != tc.hostname {
			t.Errorf("%s: hostname is %q, want %q", tc.name, got, tc.hostname)
		}
		if got := n.exec(tc.name, "main", "sh", "-c", `echo "$HOSTNAME"; hostname -f`); got != tc.hostname+"\n"+tc.full {
			t.Errorf("%s: $HOSTNAME and hostname -f are %q, want %q and %q", tc.name, got, tc.hostname, tc.full)
		}
	}
}
