package faultcorpus_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// plugin is a CNI plugin that does what the file beside it says, and then what portmap does.
const plugin = `#!/bin/sh
read -r what < '%[1]s'
hang() { while read -r now < '%[1]s' && [ "$now" = "$what" ]; do sleep 0.1; done; }
case "$CNI_COMMAND $what" in
'ADD fail')
	sleep 1 # a run that is over before it is looked at is not seen
	echo '{"cniVersion": "1.0.0", "code": 11, "msg": "no address is left in the range"}'
	exit 1
	;;
'ADD garbage')
	cat > /dev/null
	sleep 1
	echo '<html>502 Bad Gateway</html>'
	exit 0
	;;
'ADD hang' | 'DEL hang-del') hang ;;
'ADD hang-others') case "$CNI_ARGS" in *K8S_POD_NAME=other*) hang ;; esac ;;
'DEL slow-del') sleep 2 ;;
'ADD '[0-9]*) sleep "$what" ;;
esac
'%[2]s/portmap'
`

func (b *bed) pluginFile() string { return filepath.Join(b.CNIOwnDir, "what") }

func (b *bed) networkFile() string { return filepath.Join(b.CNIConfDir, "10-kubeloupe.conflist") }

// putPlugin puts the plugin into the chain, and waits until containerd has read that.
func (b *bed) putPlugin(ctx context.Context) error {
	if err := os.MkdirAll(b.CNIOwnDir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(b.pluginFile(), []byte("0\n"), 0o600); err != nil {
		return err
	}
	program := fmt.Sprintf(plugin, b.pluginFile(), b.CNIBinDir)
	if err := os.WriteFile(filepath.Join(b.CNIOwnDir, "moody"), []byte(program), 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(b.networkFile())
	if err != nil {
		return err
	}
	text = []byte(strings.Replace(string(text), `"portmap"`, `"moody"`, 1))
	if err := os.WriteFile(b.networkFile(), text, 0o600); err != nil { // containerd does not see a file that is moved there
		return err
	}
	return b.network(ctx, true)
}

// network waits until containerd has the network, or has none.
func (b *bed) network(ctx context.Context, want bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		r, err := b.runtime.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
		if err != nil {
			return fmt.Errorf("wait for containerd to read %s: %w", b.networkFile(), err)
		}
		ready := strings.Contains(r.Info["cniconfig"], "moody")
		for _, c := range r.Status.Conditions {
			ready = ready && (c.Type != runtimeapi.NetworkReady || c.Status)
		}
		if ready == want {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// plugin says what the plugin does until the case ends: sleep for some seconds, fail, hang, hang for the pods whose name begins with
// other (hang-others), answer garbage, or hang or be slow when a network is removed (hang-del, slow-del).
func (s *scene) plugin(what string) {
	s.t.Helper()
	put := func(what string) {
		if err := os.WriteFile(s.pluginFile(), []byte(what+"\n"), 0o600); err != nil {
			s.t.Error(err)
		}
	}
	put(what)
	s.t.Cleanup(func() { put("0") })
}

// noNetwork removes the network's configuration until the case ends, or back is called.
func (s *scene) noNetwork() (back func()) {
	s.t.Helper()
	text, err := os.ReadFile(s.networkFile())
	if err != nil {
		s.t.Fatal(err)
	}
	back = func() {
		if err := os.WriteFile(s.networkFile(), text, 0o600); err != nil {
			s.t.Error(err)
		}
		if err := s.network(context.Background(), true); err != nil {
			s.t.Error(err)
		}
	}
	if err := os.Remove(s.networkFile()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(back)
	if err := s.network(s.t.Context(), false); err != nil {
		s.t.Error(err)
	}
	return back
}
