package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// manifests are of pods; $NAME is replaced.
//
//go:embed manifests
var manifests embed.FS

// settings are of an agent alone, which uses nothing of the host.
const settings = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
enableServer: false
healthzPort: 0
podLogsDir: %s
failSwapOn: false
`

// agent is a kubeloupe that is standalone, and the directory of its static pods.
type agent struct {
	cmd  *exec.Cmd
	pods string
	env  map[string]string
}

// start starts an agent that records. more is added to its settings.
func (r *run) start(more string, env map[string]string, args ...string) (*agent, error) {
	a := &agent{pods: filepath.Join(r.dir, "pods"), env: env}
	if err := os.MkdirAll(a.pods, 0o755); err != nil {
		return nil, err
	}
	config := filepath.Join(r.dir, "config.yaml")
	text := fmt.Sprintf(settings, filepath.Join(r.dir, "log")) + more
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	a.cmd = exec.Command(r.program, append([]string{
		"run", "--no-tui", "--config", config, "--pod-manifest-path", a.pods, "--root-dir", filepath.Join(r.dir, "kubelet"),
		"--hostname-override", "node-1", "--control-socket", "none", "--record", r.file,
	}, args...)...)
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for the script
	a.cmd.Stderr = os.Stderr
	return a, a.cmd.Start()
}

// put makes a static pod.
func (a *agent) put(names ...string) func(context.Context) error {
	return func(context.Context) error {
		for _, name := range names {
			text, err := manifest(name, a.env)
			if err != nil {
				return err
			}
			tmp := filepath.Join(a.pods, "."+name)
			if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
				return err
			}
			if err := os.Rename(tmp, filepath.Join(a.pods, name+".yaml")); err != nil {
				return err
			}
		}
		return nil
	}
}

// remove deletes a static pod.
func (a *agent) remove(name string) func(context.Context) error {
	return func(context.Context) error { return os.Remove(filepath.Join(a.pods, name+".yaml")) }
}

// stop ends the agent, by force after ten seconds. Its pods continue.
func (a *agent) stop(context.Context) error {
	_ = a.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	force := time.AfterFunc(10*time.Second, func() { _ = a.cmd.Process.Kill() })
	defer force.Stop()
	return a.cmd.Wait()
}

func manifest(name string, env map[string]string) (string, error) {
	text, err := manifests.ReadFile("manifests/" + name + ".yaml")
	if err != nil {
		return "", err
	}
	return os.Expand(string(text), func(k string) string { return env[k] }), nil
}

// environ is a list of NAME=value as a map.
func environ(list []string) map[string]string {
	m := map[string]string{}
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok {
			m[name] = value
		}
	}
	return m
}
