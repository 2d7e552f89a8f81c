package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

// program is a process of the control plane.
type program struct {
	name string
	bin  string
	args []string
	// health is a URL that answers 200 once the program works.
	health string
}

// controlPlane lists the programs in the order in which they are started.
func (c *Cluster) controlPlane() []program {
	var (
		etcd     = fmt.Sprintf("http://127.0.0.1:%d", c.port(portEtcd))
		etcdPeer = fmt.Sprintf("http://127.0.0.1:%d", c.port(portEtcdPeer))
		pki      = func(file string) string { return c.path("pki", file) }
		conf     = func(user string) string { return c.path(user + ".kubeconfig") }
		port     = func(which int) string { return strconv.Itoa(c.port(which)) }
		local    = func(which int, path string) string { return "https://127.0.0.1:" + port(which) + path }
	)
	programs := []program{
		{
			name: "etcd", health: etcd + "/health",
			args: []string{
				"--name=lab", "--data-dir=" + c.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
				"--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
				"--listen-peer-urls=" + etcdPeer, "--initial-advertise-peer-urls=" + etcdPeer, "--initial-cluster=lab=" + etcdPeer,
			},
		},
		{
			name: "kube-apiserver", health: c.Server + "/readyz",
			args: []string{
				"--etcd-servers=" + etcd, "--secure-port=" + port(portAPI), "--advertise-address=" + c.NodeIP,
				"--service-cluster-ip-range=" + c.ServiceCIDR, "--allow-privileged",
				"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
				"--client-ca-file=" + pki("ca.crt"), "--enable-bootstrap-token-auth",
				"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
				"--kubelet-client-certificate=" + pki("kubelet-client.crt"), "--kubelet-client-key=" + pki("kubelet-client.key"),
				"--kubelet-certificate-authority=" + pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP,Hostname",
				"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
				"--service-account-key-file=" + pki("service-accounts.pub"), "--service-account-signing-key-file=" + pki("service-accounts.key"),
				"--requestheader-client-ca-file=" + pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
				"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
				"--requestheader-username-headers=X-Remote-User", "--enable-aggregator-routing",
				"--proxy-client-cert-file=" + pki("front-proxy.crt"), "--proxy-client-key-file=" + pki("front-proxy.key"),
			},
		},
		{
			name: "kube-controller-manager", health: local(portControllers, "/healthz"),
			args: []string{
				"--kubeconfig=" + conf("kube-controller-manager"), "--authentication-kubeconfig=" + conf("kube-controller-manager"),
				"--authorization-kubeconfig=" + conf("kube-controller-manager"),
				"--bind-address=127.0.0.1", "--secure-port=" + port(portControllers), "--leader-elect=false",
				"--controllers=*,bootstrap-signer-controller,token-cleaner-controller", "--use-service-account-credentials",
				"--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
				"--root-ca-file=" + pki("ca.crt"), "--service-account-private-key-file=" + pki("service-accounts.key"),
				"--client-ca-file=" + pki("ca.crt"), "--requestheader-client-ca-file=" + pki("front-proxy-ca.crt"),
				// Two halves, so that a test may make a node of its own.
				"--allocate-node-cidrs", "--cluster-cidr=" + c.Subnet, "--node-cidr-mask-size=17",
				"--service-cluster-ip-range=" + c.ServiceCIDR,
			},
		},
		{
			name: "kube-scheduler", health: local(portScheduler, "/healthz"),
			args: []string{
				"--kubeconfig=" + conf("kube-scheduler"), "--authentication-kubeconfig=" + conf("kube-scheduler"),
				"--authorization-kubeconfig=" + conf("kube-scheduler"),
				"--bind-address=127.0.0.1", "--secure-port=" + port(portScheduler), "--leader-elect=false",
			},
		},
		{name: "kube-proxy", args: []string{"--config=" + c.path("kube-proxy.yaml")}},
		{
			name: "coredns", bin: c.state.Cluster.CoreDNS,
			args:   []string{"-conf", c.path("Corefile")},
			health: fmt.Sprintf("http://127.0.0.1:%d/ready", c.port(portDNSReady)),
		},
	}
	if gates := c.state.Cluster.Gates; gates != "" {
		for i := range programs {
			switch programs[i].name {
			case "kube-apiserver", "kube-controller-manager", "kube-scheduler":
				programs[i].args = append(programs[i].args, "--feature-gates="+gates)
			}
		}
	}
	return programs
}

// start starts a program unless it runs, and does not wait for it.
func (c *Cluster) startProgram(ctx context.Context, p program) error {
	procs := c.state.Cluster.Processes
	if procs[p.name].alive() {
		return nil
	}
	bin := c.Program(p.name)
	if p.bin != "" {
		bin = p.bin + "/" + p.name
	}
	proc, err := spawn(c.path(), c.logFile(p.name), os.Environ(), bin, p.args...)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	procs[p.name] = proc
	// At once, so that Down finds it whatever happens.
	return errors.Join(ctx.Err(), c.state.save(c.Dir))
}

func (c *Cluster) logFile(program string) string { return c.path("log", program+".log") }

// await waits until a program says that it works.
func (c *Cluster) await(ctx context.Context, p program, limit time.Duration) error {
	if p.health == "" {
		return nil
	}
	client, err := c.healthClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var last error
	ok := poll(ctx, limit, 50*time.Millisecond, func() bool {
		last = healthy(ctx, client, p.health)
		return last == nil || !c.state.Cluster.Processes[p.name].alive()
	})
	if ok && last == nil {
		return nil
	}
	said, _ := os.ReadFile(c.logFile(p.name))
	return fmt.Errorf("%s does not get ready: %w; it said:\n%s", p.name, last, tail(said, 10))
}

// healthClient trusts whoever serves health on loopback, for controller manager
// and scheduler sign their own certificates.
func (c *Cluster) healthClient() (*http.Client, error) {
	cert, err := tls.LoadX509KeyPair(c.path("pki", "admin.crt"), c.path("pki", "admin.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s holds no certificate", c.CAFile)
	}
	return &http.Client{
		Timeout: 2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{cert}, RootCAs: roots,
			InsecureSkipVerify: true,
		}},
	}, nil
}

func healthy(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		var body bytes.Buffer
		_, _ = body.ReadFrom(resp.Body)
		return fmt.Errorf("%s: %s: %s", url, resp.Status, tail(body.Bytes(), 5))
	}
	return nil
}
