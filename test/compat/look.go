package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// figuresAfter is how long a scene stands before the contents are read. The wait for crash takes minutes: upstream's kubelet measures volumes and
// file systems once in a minute.
const figuresAfter = 5 * time.Second

// lookAt has an agent run the scene, and reads the contents of what it serves. The agent begins anew, with its own state.
func lookAt(ctx context.Context, cluster *lab.Cluster, o options, kind lab.AgentKind) (out contents, err error) {
	state := "c-" + string(kind)[:1]
	cfg := lab.AgentConfig{Kind: kind, State: state, Log: os.Stderr}
	var wrong error
	if cfg.KubeletConfig, err = cluster.WriteKubeletConfig("contents", func(c map[string]any) { wrong = managers(c) }); err != nil || wrong != nil {
		return nil, errors.Join(err, wrong)
	}
	root := filepath.Join(cluster.Dir, "cluster", "node", state, "root")
	if kind == lab.Upstream {
		if cfg.Program, err = cluster.PluginKubelet(state); err != nil {
			return nil, err
		}
		defer func() { _ = os.Remove("/run/containerd") }() // if nobody else has it
	} else {
		cfg.Program, cfg.Args = o.program, []string{"--v=2"} // as the lab's kubelet
	}
	p, err := startPlugins(ctx, cluster, root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	agent, err := cluster.StartAgent(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.Stop(context.WithoutCancel(ctx))) }()
	if err := agent.WaitReady(ctx); err != nil {
		return nil, err
	}
	client, err := cluster.Client()
	if err != nil {
		return nil, err
	}
	s := scene{cluster, client}
	fmt.Fprintf(os.Stderr, "setting the scene of %s\n", kind)
	if err := s.set(ctx); err != nil {
		said, _ := os.ReadFile(agent.LogFile) // it is gone with the lab
		return nil, fmt.Errorf("the scene: %w; %s, alive %t, said at last:\n%s", err, kind, agent.Alive(), said[max(0, len(said)-8192):])
	}
	time.Sleep(figuresAfter)
	config, err := cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	who, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("the administrator's certificate: %w", err)
	}
	out, err = reader{
		spoken: spoken{strings.NewReplacer(
			filepath.Join(cluster.Dir, "cluster", "node", state), "STATE", cluster.Dir, "LAB", "kubelet-contents.yaml", "CONFIG", cluster.CgroupRoot, "/CGROUP",
			cluster.DNSIP, "DNSIP", sceneNamespace, "NS",
		)},
		address: net.JoinHostPort(cluster.NodeIP, strconv.Itoa(cluster.KubeletPort)), root: root, who: who,
	}.read(ctx)
	if err != nil {
		return nil, err
	}
	return out, s.clear(ctx)
}
