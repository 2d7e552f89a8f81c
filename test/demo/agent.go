package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// nodeName is what the pods' names end in.
const nodeName = "demo"

func (d *demo) scratch() string    { return filepath.Join(d.dir, "scratch") }
func (d *demo) root() string       { return filepath.Join(d.dir, "kubelet") }
func (d *demo) logs() string       { return filepath.Join(d.dir, "log", "pods") }
func (d *demo) configFile() string { return filepath.Join(d.dir, "config.yaml") }

func (d *demo) writeConfig() error {
	text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodLogsDir: " + d.logs() + "\n" + lab.AnyDisk
	return os.WriteFile(d.configFile(), []byte(text), 0o644)
}

// command is `kubeloupe run` on the demo's node. Nothing of the host's is used: own
// directories, own cgroup, no port.
func (d *demo) command(manifests string, more ...string) *exec.Cmd {
	args := []string{
		"run", "--pod-manifest-path", manifests, "--config", d.configFile(), "--root-dir", d.root(),
		"--hostname-override", nodeName, "--healthz-port", "0",
	}
	if d.lab == nil {
		args = append(args, "--runtime", "sim")
	} else {
		args = append(args, "--container-runtime-endpoint", d.lab.RuntimeEndpoint, "--cgroup-root", d.lab.CgroupRoot,
			"--otlp-http", fmt.Sprintf("127.0.0.1:%d", d.lab.OTLPPort), "--cni-bin-dir", d.lab.CNIBinDir)
	}
	return exec.Command(d.bin, append(args, more...)...)
}

// agent is a running `kubeloupe run -o json`.
type agent struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	recs   chan trace.Record // closed when its output ends
	bad    error             // what was wrong with the output; valid then
}

// launch runs an agent in a process group of its own: a Ctrl-C is for the demo,
// which still needs the agent to delete the pods.
func (d *demo) launch(manifests string) (*agent, error) {
	a := &agent{cmd: d.command(manifests, "-o", "json"), recs: make(chan trace.Record, 256)}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	a.cmd.Stderr = &a.stderr
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	go a.read(out)
	return a, nil
}

func (a *agent) read(out io.Reader) {
	defer close(a.recs)
	for rec, err := range jsonl.Read(out) {
		if err != nil {
			a.bad = errors.Join(a.bad, err)
			continue
		}
		a.recs <- rec
	}
}

// next returns the next record. It is an error if the agent has ended.
func (a *agent) next(ctx context.Context) (trace.Record, error) {
	select {
	case <-ctx.Done():
		return trace.Record{}, context.Cause(ctx)
	case r, ok := <-a.recs:
		if !ok {
			return r, errEnded
		}
		return r, nil
	}
}

var errEnded = errors.New("the agent ended by itself")

// stop ends the agent and waits for it. Records still to come go to each, if it is not nil.
func (a *agent) stop(each func(*trace.Record)) error {
	_ = a.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	for r := range a.recs {
		if each != nil {
			each(&r)
		}
	}
	err := a.cmd.Wait()
	if err != nil {
		err = fmt.Errorf("the agent: %w\n%s", err, bytes.TrimSpace(a.stderr.Bytes()))
	}
	if a.bad != nil {
		err = errors.Join(err, fmt.Errorf("the agent's output: %w", a.bad))
	}
	return err
}
