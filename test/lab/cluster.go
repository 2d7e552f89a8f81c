package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNoCluster says that a lab has no cluster.
var ErrNoCluster = errors.New("no cluster")

// NodeName is the name of the cluster's one node.
const NodeName = "kubeloupe-lab"

// Ports of a cluster: slot n has clusterPorts of them from firstClusterPort +
// n*clusterPorts on.
const (
	firstClusterPort = 26000
	clusterPorts     = 16
)

// The ports of a cluster, counted from its first.
const (
	portAPI = iota
	portEtcd
	portEtcdPeer
	portControllers
	portScheduler
	portProxyHealthz
	portProxyMetrics
	portKubelet
	portKubeletHealthz
	portDNS
	portDNSReady
)

// ClusterConfig says what cluster to start.
type ClusterConfig struct {
	// Dir holds the lab and the cluster, as in [Config].
	Dir string
	// Preload lists images to pull into containerd, as in [Config].
	Preload []Image
	// Gates are feature gates of the control plane, as NAME=true,NAME=false; "" leaves all as they are by default. A cluster keeps those it was
	// started with: others are refused.
	Gates string
	// Log receives a line for each step that takes time; nil discards them.
	Log io.Writer
}

// Cluster is a lab with a Kubernetes control plane and DNS, ready for an agent
// to join as its one node. Its fields are for reading.
type Cluster struct {
	*Lab
	// Server is the URL of the API server.
	Server string
	// Kubeconfig is the administrator's.
	Kubeconfig string
	// BootstrapKubeconfig has a token with which a node asks for its certificate.
	BootstrapKubeconfig string
	// CAFile signs all certificates of the cluster.
	CAFile string
	// KubeletConfig is the KubeletConfiguration that every agent is started with.
	KubeletConfig string
	// NodeIP is the node's address: the host's on the lab's bridge.
	NodeIP string
	// KubeletPort is where an agent serves.
	KubeletPort int
	// ServiceCIDR is where services get their addresses, DNS at DNSIP.
	ServiceCIDR, DNSIP string
	// Programs is the directory of Kubernetes' programs: kubectl, ginkgo.
	Programs string
}

// clusterState is what a lab remembers of its cluster.
type clusterState struct {
	// Kubernetes and CoreDNS are directories of programs, Layout the images.
	Kubernetes, CoreDNS, Layout string
	// Token is the bootstrap token: id, dot, secret.
	Token string
	// Gates are the control plane's, as in [ClusterConfig].
	Gates string `json:",omitempty"`
	// Processes are by name of the program.
	Processes map[string]process
	// Agents are by the directory of their state below node/.
	Agents map[string]agentState
}

// serviceCIDR gives each slot 512 addresses of the range for benchmarks.
func serviceCIDR(slot int) netip.Prefix {
	n := slot * 512
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18 + byte(n>>16), byte(n >> 8), 0}), 23)
}

// OpenCluster finds the cluster in dir, running or not. The error is
// [ErrNoLab] or [ErrNoCluster] if there is none.
func OpenCluster(dir string) (*Cluster, error) {
	l, err := Open(dir)
	if err != nil {
		return nil, err
	}
	if l.state.Cluster == nil {
		return nil, fmt.Errorf("%w in %s", ErrNoCluster, l.Dir)
	}
	return newCluster(l), nil
}

func newCluster(l *Lab) *Cluster {
	c := &Cluster{Lab: l}
	services := serviceCIDR(l.state.Slot)
	c.ServiceCIDR = services.String()
	dns := services.Addr()
	for range 10 {
		dns = dns.Next()
	}
	c.DNSIP = dns.String()
	c.NodeIP = l.state.Gateway
	c.Server = fmt.Sprintf("https://%s:%d", c.NodeIP, c.port(portAPI))
	c.Kubeconfig = c.path("admin.kubeconfig")
	c.BootstrapKubeconfig = c.path("bootstrap.kubeconfig")
	c.CAFile = c.path("pki", "ca.crt")
	c.KubeletConfig = c.path("kubelet.yaml")
	c.KubeletPort = c.port(portKubelet)
	c.Programs = l.state.Cluster.Kubernetes
	return c
}

func (c *Cluster) port(which int) int { return firstClusterPort + c.state.Slot*clusterPorts + which }

// path names a file in the cluster's directory.
func (c *Cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.Dir, "cluster"}, elem...)...)
}

// Program returns the path of one of Kubernetes' programs.
func (c *Cluster) Program(name string) string { return filepath.Join(c.Programs, name) }

// RESTConfig returns the administrator's access, without limits on the client's
// side, so that a test never waits for itself.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the cluster's kubeconfig: %w", err)
	}
	config.QPS = cmp.Or(config.QPS, -1)
	return config, nil
}

// Client returns a client with [Cluster.RESTConfig].
func (c *Cluster) Client() (kubernetes.Interface, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// env is the part of [Lab.Env] that is about the cluster.
func (c *Cluster) env() []string {
	return []string{
		"KUBECONFIG=" + c.Kubeconfig,
		"BOOTSTRAP_KUBECONFIG=" + c.BootstrapKubeconfig,
		"KUBELET_CONFIG=" + c.KubeletConfig,
		"KUBERNETES_BIN=" + c.Programs,
		"API_SERVER=" + c.Server,
		"NODE_NAME=" + NodeName,
		"NODE_IP=" + c.NodeIP,
	}
}
