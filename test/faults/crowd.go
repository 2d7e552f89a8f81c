package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// crowd are as many pods as a node takes, beside those that are measured. Each waits for a switch that all have in common.
type crowd struct {
	pods int
	dir  string // of the switch
}

// restless is a pod whose container ends after a second while the switch is on. While it is off, it waits for the end of a pipe that
// nobody writes to.
const restless = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: $BUSYBOX
    command: [sh, -c, 'if [ -e /switch/on ]; then sleep 1; else read x < /switch/pipe; fi']
    volumeMounts: [{name: switch, mountPath: /switch}]
  volumes: [{name: switch, hostPath: {path: %s, type: Directory}}]
`

func (c *crowd) pipe() string { return filepath.Join(c.dir, "pipe") }

// gather starts the crowd, quiet.
func (c *crowd) gather(ctx context.Context, n *node) error {
	c.dir = filepath.Join(n.dir, "switch")
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mkfifo(c.pipe(), 0o600); err != nil {
		return err
	}
	var started []<-chan struct{}
	n.mu.Lock()
	for i := range c.pods {
		started = append(started, n.expect(fmt.Sprintf("ends-%d started", i)))
	}
	n.mu.Unlock()
	for i := range c.pods {
		name := fmt.Sprintf("ends-%d", i)
		if err := n.put(name+".yaml", fmt.Sprintf(restless, name, c.dir)); err != nil {
			return err
		}
	}
	for i, s := range started {
		if err := n.await(ctx, fmt.Sprintf("ends-%d to be started", i), s); err != nil {
			return err
		}
	}
	return nil
}

// stir turns the switch on, and ends all containers at once.
func (c *crowd) stir() error {
	if err := os.WriteFile(filepath.Join(c.dir, "on"), nil, 0o600); err != nil {
		return err
	}
	// The reading ends of the containers are there, so this does not wait; closing it is what ends them.
	pipe, err := os.OpenFile(c.pipe(), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return errors.New("no container reads the pipe")
	}
	if err != nil {
		return err
	}
	return pipe.Close()
}

// calm turns the switch off: who starts from now on stays.
func (c *crowd) calm() error { return os.Remove(filepath.Join(c.dir, "on")) }
