package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stopAgents ends all agents that were started in the lab.
func (l *Lab) stopAgents(ctx context.Context) error {
	if l.state.Cluster == nil {
		return nil
	}
	var errs []error
	for _, a := range l.state.Cluster.Agents {
		errs = append(errs, a.Process.stop(ctx, 5*time.Second))
	}
	return errors.Join(errs...)
}

// stopCluster ends the control plane and removes what it, and the agents, left
// outside the lab's directory.
func (l *Lab) stopCluster(ctx context.Context) error {
	if l.state.Cluster == nil {
		return nil
	}
	var errs []error
	// In the opposite order, so that no program has to cry for another.
	for _, name := range []string{"coredns", "kube-proxy", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"} {
		grace := time.Second
		if name == "kube-apiserver" {
			grace = 0 // it would wait for its watchers
		}
		errs = append(errs, l.state.Cluster.Processes[name].stop(ctx, grace))
	}
	return errors.Join(append(errs, removeAllKubeRules(ctx), l.removeLogLinks(), releaseNetwork(l.Dir))...)
}

func removeAllKubeRules(ctx context.Context) error {
	return errors.Join(removeKubeRules(ctx, "iptables"), removeKubeRules(ctx, "ip6tables"))
}

// removeKubeRules removes the chains of kube-proxy and kubelet, which begin
// with KUBE-, and all rules that lead there.
func removeKubeRules(ctx context.Context, tool string) error {
	var errs []error
	for _, table := range []string{"raw", "mangle", "nat", "filter"} {
		saved, err := exec.CommandContext(ctx, tool+"-save", "-t", table).Output()
		if err != nil {
			continue // no such table, or no iptables at all
		}
		for _, args := range kubeCleanup(string(saved)) {
			args = append([]string{"-w", "-t", table}, args...)
			if out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput(); err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w: %s", tool, strings.Join(args, " "), err, out))
			}
		}
	}
	return errors.Join(errs...)
}

// kubeCleanup returns the arguments that remove the KUBE- chains of a table.
func kubeCleanup(saved string) [][]string {
	const prefix = "KUBE-"
	var links, flush, remove [][]string
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, ":"+prefix); ok {
			chain := prefix + strings.Fields(name)[0]
			flush = append(flush, []string{"-F", chain})
			remove = append(remove, []string{"-X", chain})
		}
		rule, ok := strings.CutPrefix(line, "-A ")
		if !ok || strings.HasPrefix(rule, prefix) {
			continue // within a chain that is flushed
		}
		f := splitRule(rule)
		if i := slices.Index(f, "-j"); i >= 0 && i+1 < len(f) && strings.HasPrefix(f[i+1], prefix) {
			links = append(links, append([]string{"-D"}, f...))
		}
	}
	return slices.Concat(links, flush, remove)
}

// removeLogLinks removes the agents' links to logs in the lab; their directory
// is fixed.
func (l *Lab) removeLogLinks() error {
	links, err := filepath.Glob("/var/log/containers/*")
	if err != nil {
		return err
	}
	var errs []error
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, l.Dir+"/") {
			errs = append(errs, os.Remove(link))
		}
	}
	return errors.Join(errs...)
}
