package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// crioPods are a pod whose image is not on the node, and one for which a CNI plugin fails.
//
//go:embed crio.yaml
var crioPods string

// broken is a CNI plugin that fails for one pod, and does what portmap does for all others.
const broken = `#!/bin/sh
case "$CNI_COMMAND $CNI_ARGS" in
ADD*K8S_POD_NAME=no-network*)
	echo '{"cniVersion": "1.0.0", "code": 11, "msg": "no address is left"}'
	exit 1;;
esac
'%s/portmap'
`

// needed are the lines that are kept of CRI-O's log at debug: most others are of calls with which a kubelet looks at its runtime.
var needed = regexp.MustCompile(`level=(info|warning|error) |msg="(Request: &PullImage|Response error: |container exited|Found exit code)`)

// writeCRIO writes logs of the kubelet and of CRI-O, at CRI-O's levels info and debug.
func writeCRIO(ctx context.Context, c *lab.Cluster, pods, out string) error {
	conf := filepath.Join(c.CNIConfDir, "10-kubeloupe.conflist")
	text, err := os.ReadFile(conf)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.CNIOwnDir, 0o755); err != nil {
		return err
	}
	for file, text := range map[string]string{
		filepath.Join(c.CNIOwnDir, "broken"): fmt.Sprintf(broken, c.CNIBinDir), conf: strings.Replace(string(text), `"portmap"`, `"broken"`, 1),
	} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		name, level string
		verbosity   int
	}{{"crio-v2", "info", 2}, {"crio-v3", "info", 3}, {"crio-debug", "debug", 2}} {
		if err := crioSession(ctx, c, s.level, run{name: s.name, level: s.verbosity, pods: pods, out: out}); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// crioSession is a session with a CRI-O of its own.
func crioSession(ctx context.Context, c *lab.Cluster, level string, r run) (err error) {
	crio, err := c.StartCRIO(ctx, lab.CRIOConfig{Level: level, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, crio.Stop(context.WithoutCancel(ctx))) }()
	if err := crio.Pull(ctx, lab.ImagePause, lab.ImageBusybox, lab.ImageHTTP); err != nil {
		return err
	}
	r.runtime, r.suffix = crio.LogFile, "crio"
	if level == "debug" {
		r.only = needed
	}
	r.config, err = c.WriteKubeletConfig("crio", func(config map[string]any) { config["containerRuntimeEndpoint"] = crio.Endpoint })
	if err != nil {
		return err
	}
	return r.session(ctx, c)
}
