package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// pipe passes TCP connections on to the API server and counts their bytes, which are encrypted.
type pipe struct {
	bytes atomic.Int64
	l     net.Listener
	to    string
}

func newPipe(ctx context.Context, to string) (*pipe, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &pipe{l: l, to: to}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(ctx, client)
		}
	}()
	return p, nil
}

func (p *pipe) serve(ctx context.Context, client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.to)
	if err != nil {
		_ = client.Close()
		return
	}
	go func() {
		_, _ = io.Copy(client, io.TeeReader(server, p))
		_ = client.Close()
	}()
	_, _ = io.Copy(server, io.TeeReader(client, p))
	_ = server.Close()
}

// Write implements io.Writer: it counts.
func (p *pipe) Write(b []byte) (int, error) {
	p.bytes.Add(int64(len(b)))
	return len(b), nil
}

// apiCost measures what a pod's start, restart and deletion cost: requests and bytes of the agent to the API server, and its CPU time. The
// pods come one after another; between two figures the agent has a second to write what it collected.
func (c *clusterBench) apiCost(ctx context.Context) error {
	boot, p, err := c.pipedKubeconfig(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.l.Close() }()
	cfg := fmt.Sprintf("api-%s-%d", c.kind, c.phase) // with another pipe, its kubeconfig is another
	if err := c.startAs(ctx, cfg, "--bootstrap-kubeconfig="+boot); err != nil {
		return err
	}
	if err := c.agent.WaitReady(ctx); err != nil {
		return err
	}
	if err := c.warm(ctx); err != nil {
		return err
	}
	n := max(10, c.samples())
	pods := make([]*v1.Pod, n)
	for i := range pods {
		pods[i] = bound(plain(c.node.lab))
	}
	err = c.cost(ctx, "a pod's start", p, n, func() error {
		for _, pod := range pods {
			if err := c.create(ctx, pod); err != nil {
				return err
			}
			if _, err := c.seen.awaitReady(ctx, pod.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.cost(ctx, "a pod's deletion", p, n, func() error {
		for _, pod := range pods {
			if err := c.remove(ctx, pod); err != nil {
				return err
			}
			if _, err := c.seen.awaitGone(ctx, pod.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.stopAgent(ctx)
}

// cost measures n of something.
func (c *clusterBench) cost(ctx context.Context, what string, p *pipe, n int, do func() error) error {
	take := func() (cpu, calls, bytes float64, err error) {
		if err := sleep(ctx, 2*time.Second); err != nil {
			return 0, 0, 0, err
		}
		used, _, err := usage(c.agent.PID())
		if err != nil {
			return 0, 0, 0, err
		}
		calls, err = c.apiCalls(ctx)
		return milli(used), calls, float64(p.bytes.Load()), err
	}
	cpu, calls, bytes, err := take()
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	cpu2, calls2, bytes2, err := take()
	if err != nil {
		return err
	}
	each := float64(n)
	c.table.pairTimes(what+": agent's CPU time", 0.5).value(c.kind, (cpu2-cpu)/each)
	c.table.line(what+": API requests", "", noSlower).value(c.kind, (calls2-calls)/each)
	c.table.line(what+": API bytes", "KiB", noSlower).value(c.kind, (bytes2-bytes)/each/1024)
	return nil
}

// pipedKubeconfig writes a bootstrap kubeconfig whose server is a pipe to the real one.
func (c *clusterBench) pipedKubeconfig(ctx context.Context) (string, *pipe, error) {
	data, err := os.ReadFile(c.cluster.BootstrapKubeconfig)
	if err != nil {
		return "", nil, err
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil || len(config.Clusters) != 1 {
		return "", nil, fmt.Errorf("%s: %d clusters, want 1: %w", c.cluster.BootstrapKubeconfig, len(config.Clusters), err)
	}
	server := config.Clusters[0].Cluster.Server
	p, err := newPipe(ctx, strings.TrimPrefix(server, "https://"))
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(c.dir, "piped-"+string(c.kind))
	text := strings.Replace(string(data), server, "https://"+p.l.Addr().String(), 1)
	return file, p, os.WriteFile(file, []byte(text), 0o600)
}
