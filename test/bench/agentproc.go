package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

func numCPU() int { return runtime.NumCPU() }

// agent is a kubeloupe under test.
type agent struct {
	cmd       *exec.Cmd
	manifests string
	out       *os.File
}

// startAgent runs the agent on a lab with extra flags. What it prints goes to a file.
func (b *bench) startAgent(ctx context.Context, s *side, extra ...string) error {
	return b.startAgentOn(ctx, s, nil, append([]string{"--no-tui"}, extra...)...)
}

// startAgentOn is startAgent on a terminal, if that is not nil.
func (b *bench) startAgentOn(ctx context.Context, s *side, tty *os.File, extra ...string) error {
	if err := b.stopAgent(); err != nil {
		return err
	}
	root := filepath.Join(b.dir, "agent")
	a := &agent{manifests: filepath.Join(root, "manifests")}
	for _, d := range []string{a.manifests, filepath.Join(root, "log", "pods")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	config := filepath.Join(root, "config.yaml")
	text := fmt.Sprintf("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodLogsDir: %s\nserializeImagePulls: false\n%s%s", filepath.Join(root, "log", "pods"), lab.AnyDisk, b.config)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	var err error
	if a.out, err = os.Create(filepath.Join(root, "out")); err != nil {
		return err
	}
	args := append([]string{
		"run", "--config", config, "--root-dir", filepath.Join(root, "kubelet"), "--pod-manifest-path", a.manifests,
		"--cgroup-root", s.lab.CgroupRoot, "--container-runtime-endpoint", s.lab.RuntimeEndpoint, "--healthz-port", "0", "--runtime-slots", strconv.Itoa(b.o.slots),
	}, extra...)
	a.cmd = exec.Command(b.o.bin, args...)
	a.cmd.Stdout, a.cmd.Stderr = a.out, a.out
	if tty != nil {
		onTerminal(a.cmd, tty)
	}
	if err := a.cmd.Start(); err != nil {
		return err
	}
	b.agent = a
	select { // it prints "ready" on its own time; the first sample is thrown away anyway
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (b *bench) stopAgent() error {
	if b.agent == nil {
		return nil
	}
	a := b.agent
	b.agent = nil
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	err := a.cmd.Wait()
	text, _ := os.ReadFile(a.out.Name())
	_ = a.out.Close()
	if err != nil {
		return fmt.Errorf("the agent: %w\n%s", err, bytes.TrimSpace(text[max(0, len(text)-2000):]))
	}
	return nil
}

// write puts a manifest where the agent looks, whole at once.
func (a *agent) write(pod *v1.Pod) error {
	p, err := json.Marshal(pod)
	if err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(a.manifests), pod.Name+".tmp")
	if err := os.WriteFile(tmp, p, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(a.manifests, pod.Name+".json"))
}

func (a *agent) remove(pod *v1.Pod) error {
	return os.Remove(filepath.Join(a.manifests, pod.Name+".json"))
}

// usage reads a process's CPU time and resident memory.
func usage(pid int) (cpu time.Duration, rss int64, err error) {
	if cpu, err = cpuTime([]int{pid}); err != nil {
		return 0, 0, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				return 0, 0, err
			}
			rss = kib << 10
		}
	}
	return cpu, rss, nil
}
