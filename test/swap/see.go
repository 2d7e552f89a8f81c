package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// facts are what is known at one moment, by a name that says what it is about.
type facts map[string]string

// see looks at pods, node, containers, mounts and cgroups.
func (s *swap) see(ctx context.Context) (facts, error) {
	f := facts{}
	list, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, p := range list.Items {
		p.ManagedFields, p.ResourceVersion = nil, ""
		if err := f.flatten("pod "+p.Name+" ", &p); err != nil {
			return nil, err
		}
	}
	node, err := s.client.CoreV1().Nodes().Get(ctx, lab.NodeName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	node.ManagedFields, node.ResourceVersion = nil, ""
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
	}
	if err := f.flatten("node ", node); err != nil {
		return nil, err
	}
	if err := s.seeRuntime(ctx, f); err != nil {
		return nil, err
	}
	s.seeMounts(f)
	s.seeCgroups(f)
	return f, nil
}

func (f facts) flatten(prefix string, object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return err
	}
	f.walk(prefix, tree)
	return nil
}

// walk names list items by their name or type where they have one.
func (f facts) walk(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			f.walk(path+"."+k, e)
		}
	case []any:
		for i, e := range v {
			key := fmt.Sprint(i)
			if m, ok := e.(map[string]any); ok {
				for _, k := range []string{"name", "type"} {
					if name, ok := m[k].(string); ok {
						key = name
						break
					}
				}
			}
			f.walk(path+"["+key+"]", e)
		}
	default:
		f[path] = fmt.Sprint(v)
	}
}

func (s *swap) seeRuntime(ctx context.Context, f facts) error {
	conn, err := s.cluster.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := cri.NewRuntimeServiceClient(conn)
	sandboxes, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	pods := map[string]string{}
	for _, p := range sandboxes.GetItems() {
		pods[p.GetId()] = p.GetMetadata().GetName()
		f["sandbox "+p.GetMetadata().GetName()+" "+p.GetId()[:12]] = p.GetState().String()
	}
	containers, err := client.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return err
	}
	for _, c := range containers.GetContainers() {
		f["container "+pods[c.GetPodSandboxId()]+"/"+c.GetMetadata().GetName()+" "+c.GetId()[:12]] = c.GetState().String()
	}
	return nil
}

func (s *swap) seeMounts(f facts) {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], s.agent.RootDir+"/") {
			f["mount "+strings.TrimPrefix(fields[4], s.agent.RootDir)] = "is"
		}
	}
	for _, dir := range []string{"pods", "plugins"} {
		entries, _ := os.ReadDir(filepath.Join(s.agent.RootDir, dir))
		for _, e := range entries {
			f["directory "+filepath.Join(dir, e.Name())] = "is"
		}
	}
}

// seeCgroups looks in one hierarchy of limits, three levels down: pods.
func (s *swap) seeCgroups(f facts) {
	root := filepath.Join("/sys/fs/cgroup/memory", s.cluster.CgroupRoot)
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		name := filepath.Base(rel)
		if strings.Count(rel, "/") > 2 {
			return fs.SkipDir
		}
		limit, _ := os.ReadFile(filepath.Join(path, "memory.limit_in_bytes"))
		if strings.HasPrefix(name, "pod") || name == "kubepods" || name == "besteffort" || name == "burstable" {
			f["cgroup "+rel] = strings.TrimSpace(string(limit))
		}
		return nil
	})
}

// compare tells what differs.
func (s *swap) compare(before, after facts) {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		was, had := before[k]
		is, has := after[k]
		switch {
		case had && has && was == is:
			continue
		case !had:
			was = "(none)"
		case !has:
			is = "(none)"
		}
		if mustNot(k, was) && !upstreams(before, k) && !early(before, k, was) {
			s.fail("%s: %s → %s", k, was, is)
		} else {
			s.note("%s: %s → %s", k, was, is)
		}
	}
}

// upstreams says whether upstream's kubelet makes the difference also when it follows itself: pods that
// ended lose their address, a static pod starts again in its own eyes.
func upstreams(before facts, key string) bool {
	name, field, _ := strings.Cut(strings.TrimPrefix(key, "pod "), " ")
	switch phase := before["pod "+name+" .status.phase"]; field {
	case ".status.podIP":
		return phase == "Succeeded" || phase == "Failed"
	case ".status.startTime":
		return before["pod "+name+" .metadata.annotations.kubernetes.io/config.source"] == "file"
	}
	return false
}

// early says whether the difference is that kubeloupe makes a sandbox while volumes are still missing.
func early(before facts, key, was string) bool {
	kind, rest, _ := strings.Cut(key, " ")
	name, field, _ := strings.Cut(rest, " ")
	const condition = ".status.conditions[PodReadyToStartContainers].status"
	switch {
	case before["pod "+name+" .status.phase"] != "Pending" || before["pod "+name+" "+condition] != "False":
		return false
	case kind == "sandbox", field == ".status.podIP":
		return was == "(none)"
	}
	return field == condition
}

// mustNot says whether a difference is a failure.
func mustNot(key, was string) bool {
	kind, _, _ := strings.Cut(key, " ")
	switch kind {
	case "sandbox", "container": // the dead may be collected
		return was != "SANDBOX_NOTREADY" && was != "CONTAINER_EXITED"
	case "mount", "directory", "cgroup":
		return true
	case "pod":
		for _, field := range []string{".phase", ".containerID", ".restartCount", ".ready", ".uid", ".deletionTimestamp", ".podIP", ".startTime", ".startedAt", ".status"} {
			if strings.HasSuffix(key, field) {
				return true
			}
		}
	}
	return false
}
