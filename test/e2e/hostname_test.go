package e2e

import "testing"

// TestHostnames looks from inside at what pods ask to be called.
func TestHostnames(t *testing.T) {
	n := newNode(t)
	n.config = "clusterDomain: cluster.test\n"
	a := n.start()
	const fqdn = "web.shop.default.svc.cluster.test"
	cases := []struct{ name, spec, hostname, hosts string }{
		{"plain", "", n.pod("plain"), n.pod("plain")},
		{"named", "hostname: web", "web", "web"},
		{"sub", "hostname: web\n  subdomain: shop", "web", fqdn + "\tweb"},
		{"fqdn", "hostname: web\n  subdomain: shop\n  setHostnameAsFQDN: true", fqdn, fqdn + "\tweb"},
		{"override", "hostname: web\n  subdomain: shop\n  hostnameOverride: other.example.org", "other.example.org", "other.example.org"},
	}
	for _, tc := range cases {
		n.put(tc.name+".yaml", `
apiVersion: v1
kind: Pod
metadata: {name: `+tc.name+`}
spec:
  `+tc.spec+`
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: $WAIT}]
`)
	}
	for _, tc := range cases {
		a.ready(tc.name)
		if got, want := n.exec(tc.name, "main", "sh", "-c", `hostname; echo "$HOSTNAME"; tail -n 1 /etc/hosts | cut -f 2-`),
			tc.hostname+"\n"+tc.hostname+"\n"+tc.hosts; got != want {
			t.Errorf("%s: hostname, $HOSTNAME and the hosts file are %q, want %q", tc.name, got, want)
		}
	}
}
