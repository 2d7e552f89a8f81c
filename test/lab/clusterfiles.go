package lab

import (
	"crypto/x509/pkix"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed manifests/*
var clusterManifests embed.FS

// writeFiles makes the keys, unless they are there, and all files of the
// cluster's programs.
func (c *Cluster) writeFiles() error {
	for _, dir := range []string{"pki", "etcd", "log", "node/manifests", "node/volumeplugins", "node/pods"} {
		if err := os.MkdirAll(c.path(dir), 0o755); err != nil {
			return err
		}
	}
	if !exists(c.path("pki", "done")) {
		if err := c.writeKeys(); err != nil {
			return fmt.Errorf("keys of the cluster: %w", err)
		}
	}
	for _, user := range []string{"admin", "kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns"} {
		credentials := fmt.Sprintf("client-certificate: %[1]s.crt\n    client-key: %[1]s.key", c.path("pki", user))
		if err := c.writeKubeconfig(user, credentials); err != nil {
			return err
		}
	}
	if err := c.writeKubeconfig("bootstrap", "token: "+c.state.Cluster.Token); err != nil {
		return err
	}
	if err := c.writeResolvConf(); err != nil {
		return err
	}
	fill := c.filler()
	return fs.WalkDir(clusterManifests, "manifests", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(clusterManifests, p)
		if err != nil {
			return err
		}
		return writeFile(c.path(d.Name()), []byte(fill.Replace(string(data))))
	})
}

// filler replaces what manifests leave open.
func (c *Cluster) filler() *strings.Replacer {
	id, secret, _ := strings.Cut(c.state.Cluster.Token, ".")
	port := func(which int) string { return strconv.Itoa(c.port(which)) }
	return strings.NewReplacer(
		"${DIR}", c.path(),
		"${CDI}", filepath.Join(c.Dir, cdiDir),
		"${TOKEN_ID}", id,
		"${TOKEN_SECRET}", secret,
		"${NODE_NAME}", NodeName,
		"${NODE_IP}", c.NodeIP,
		"${SUBNET}", c.Subnet,
		"${RUNTIME}", c.RuntimeEndpoint,
		"${CGROUP_ROOT}", c.CgroupRoot,
		"${DNS_IP}", c.DNSIP,
		"${DNS_PORT}", port(portDNS),
		"${DNS_READY_PORT}", port(portDNSReady),
		"${KUBELET_PORT}", port(portKubelet),
		"${HEALTHZ_PORT}", port(portKubeletHealthz),
		"${PROXY_HEALTHZ_PORT}", port(portProxyHealthz),
		"${PROXY_METRICS_PORT}", port(portProxyMetrics),
	)
}

// writeKeys makes two authorities, the certificates and the key of service
// accounts. The file "done" comes last.
func (c *Cluster) writeKeys() error {
	dir := c.path("pki")
	ca, err := newAuthority(dir, "ca")
	if err != nil {
		return err
	}
	front, err := newAuthority(dir, "front-proxy-ca")
	if err != nil {
		return err
	}
	services, err := netip.ParsePrefix(c.ServiceCIDR)
	if err != nil {
		return err
	}
	name := func(cn string, groups ...string) pkix.Name { return pkix.Name{CommonName: cn, Organization: groups} }
	var errs []error
	for _, cert := range []struct {
		by      *authority
		file    string
		subject pkix.Name
		hosts   []string
	}{
		{ca, "apiserver", name("kube-apiserver"), []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost",
			"127.0.0.1", c.NodeIP, services.Addr().Next().String(),
		}},
		{ca, "node", name("system:node:"+NodeName, "system:nodes"), []string{NodeName, c.NodeIP, "127.0.0.1"}},
		{ca, "kubelet-client", name("kube-apiserver-kubelet-client"), nil},
		{ca, "admin", name("kubernetes-admin", "system:masters"), nil},
		{ca, "kube-controller-manager", name("system:kube-controller-manager"), nil},
		{ca, "kube-scheduler", name("system:kube-scheduler"), nil},
		{ca, "kube-proxy", name("system:kube-proxy"), nil},
		{ca, "coredns", name("system:coredns"), nil},
		{front, "front-proxy", name("front-proxy-client"), nil},
	} {
		_, err := cert.by.issue(dir, cert.file, cert.subject, cert.hosts...)
		errs = append(errs, err)
	}
	errs = append(errs, writeSigningKey(dir, "service-accounts"))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "done"), nil, 0o644)
}

func (c *Cluster) writeKubeconfig(user, credentials string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: lab
contexts:
- name: lab
  context: {cluster: lab, user: %[1]s}
clusters:
- name: lab
  cluster:
    server: %[2]s
    certificate-authority: %[3]s
users:
- name: %[1]s
  user:
    %[4]s
`, user, c.Server, c.CAFile, credentials)
	return writeFile(c.path(user+".kubeconfig"), []byte(text))
}

// writeResolvConf copies the host's, for pods with the node's DNS and for names
// outside the cluster.
func (c *Cluster) writeResolvConf() error {
	host, err := os.ReadFile("/etc/resolv.conf")
	if err != nil || !strings.Contains(string(host), "nameserver") {
		host = []byte("nameserver 127.0.0.1\n")
	}
	return writeFile(c.path("resolv.conf"), host)
}
