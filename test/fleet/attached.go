package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/collector"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/podstart"
)

// attached is a node of a cluster with upstream's kubelet, to which kubeloupe is attached.
type attached struct {
	cluster       *lab.Cluster
	kubelet       *lab.Agent
	conn          *grpc.ClientConn
	starter       podstart.Starter
	address, sock string
	process       *process
}

func newAttached(ctx context.Context, f *fleet) (_ node, err error) {
	dir := filepath.Join(f.dir, "up")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	n := &attached{sock: filepath.Join(dir, "s.sock")}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close(context.WithoutCancel(ctx)))
		}
	}()
	if n.cluster, err = lab.UpCluster(ctx, lab.ClusterConfig{Dir: filepath.Join(dir, "lab"), Log: os.Stderr}); err != nil {
		return nil, err
	}
	if n.kubelet, err = n.cluster.StartAgent(ctx, lab.AgentConfig{Kind: lab.Upstream, Args: []string{"--v=4"}, Log: os.Stderr}); err != nil {
		return nil, err
	}
	if err := n.kubelet.WaitReady(ctx); err != nil {
		return nil, err
	}
	if n.conn, err = n.cluster.Dial(); err != nil {
		return nil, err
	}
	client, err := n.cluster.Client()
	if err != nil {
		return nil, err
	}
	n.starter = podstart.Starter{Client: client, Runtime: runtimeapi.NewRuntimeServiceClient(n.conn), Image: n.cluster.Image(lab.ImageBusybox)}
	if n.address, err = collector.FreeAddress(ctx); err != nil {
		return nil, err
	}
	to := []string{"--otlp-endpoint", f.receiver.addr}
	if f.ca != "" {
		to = []string{"--otlp-endpoint", "https://" + f.receiver.addr, "--otlp-ca-file", f.ca}
	}
	n.process, err = spawn(filepath.Join(dir, "out"), nil, f.bin, append([]string{
		"attach", "--no-tui", "--pid", strconv.Itoa(n.kubelet.PID()), "--control-socket", n.sock,
		"--kubeconfig", n.cluster.Kubeconfig, "--otlp-http", fmt.Sprintf("127.0.0.1:%d", n.cluster.OTLPPort),
		"--sampling", "1", "--metrics-address", n.address,
	}, to...)...)
	if err != nil {
		return nil, err
	}
	return n, awaitMetrics(ctx, n)
}

func (n *attached) name() string    { return lab.NodeName }
func (n *attached) pid() int        { return n.process.pid() }
func (n *attached) metrics() string { return "http://" + n.address + "/metrics" }
func (n *attached) socket() string  { return n.sock }

// start implements node.
func (n *attached) start(ctx context.Context, i int) (time.Duration, string, error) {
	name := fmt.Sprintf("up-%d", i)
	ms, err := n.starter.One(ctx, name)
	return time.Duration(ms * float64(time.Millisecond)), name + "-0", err
}

func (n *attached) close(ctx context.Context) (err error) {
	err = n.process.stop()
	if n.conn != nil {
		err = errors.Join(err, n.conn.Close())
	}
	if n.kubelet != nil {
		err = errors.Join(err, n.kubelet.Stop(ctx))
	}
	if n.cluster != nil {
		err = errors.Join(err, n.cluster.Down(ctx))
	}
	return err
}
