package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// column is something that is counted, with how much more of it is no growth.
type column struct {
	name string
	// more is the tolerance, part the tolerance as a part of the count that the last is compared with.
	more, part float64
	// filled compares with the count in the middle instead of the first: the agent keeps records of its last pods for late readers, up to a
	// limit (backlog.Options), which the first half of the run fills.
	filled bool
}

// base is the count of the column with which its last one is compared.
func (c column) base(counts []count, i int) float64 {
	if c.filled {
		return counts[(len(counts)-1)/2][i]
	}
	return counts[0][i]
}

// Columns in the order of the table. What belongs to pods must be exact.
func columns() []column {
	return []column{
		{name: "goroutines", more: 12},
		{name: "fds", more: 6},
		{name: "live MiB", more: 1, part: 0.05, filled: true},
		{name: "RSS MiB", more: 4, part: 0.10, filled: true},
		{name: "threads", more: 6},
		{name: "mounts"},
		{name: "cgroups"},
		{name: "netns"},
		{name: "addresses"},
		{name: "veths"},
		{name: "containers"},
		{name: "shims"},
		{name: "pod dirs"},
		{name: "log dirs"},
		{name: "log links"},
		{name: "API objects"},
	}
}

// count is a value for each column.
type count []float64

// count looks at everything now.
func (s *soak) count(ctx context.Context) (count, error) {
	pid := s.agent.PID()
	rss, err := rssMiB(pid)
	if err != nil {
		return nil, err
	}
	live, err := s.liveMiB(ctx)
	if err != nil {
		return nil, err
	}
	goroutines, err := s.goroutines(ctx)
	if err != nil {
		return nil, err
	}
	containers, err := s.containers(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := s.objects(ctx)
	if err != nil {
		return nil, err
	}
	return count{
		goroutines,
		entries(fmt.Sprintf("/proc/%d/fd", pid)),
		live,
		rss,
		entries(fmt.Sprintf("/proc/%d/task", pid)),
		s.mounts(),
		s.cgroups(),
		entries(filepath.Join(s.cluster.Dir, "state", "io.containerd.grpc.v1.cri", "netns")),
		s.addresses(),
		entries(filepath.Join("/sys/class/net", s.cluster.Bridge, "brif")),
		containers,
		s.shims(),
		entries(filepath.Join(s.agent.RootDir, "pods")),
		entries(filepath.Join(s.cluster.Dir, "cluster", "node", "pods")),
		s.logLinks(),
		objects,
	}, nil
}

// profile asks the agent for a profile, as text if it is not one of the CPU, through the API server.
func (s *soak) profile(ctx context.Context, name string, params map[string]string) ([]byte, error) {
	req := s.client.CoreV1().RESTClient().Get().Resource("nodes").Name(lab.NodeName).SubResource("proxy").
		Suffix("debug/pprof/"+name).Param("debug", "1")
	for k, v := range params {
		req = req.Param(k, v)
	}
	text, err := req.DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("the agent's profile: %w", err)
	}
	return text, nil
}

// liveMiB has the agent collect its garbage, and returns what is left: the resident memory depends on how long ago that was.
func (s *soak) liveMiB(ctx context.Context) (float64, error) {
	text, err := s.profile(ctx, "heap", map[string]string{"gc": "1"})
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "# HeapAlloc = "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			return n / (1 << 20), err
		}
	}
	return 0, errors.New("the agent's profile of its heap does not say how much is in use")
}

// goroutines returns how many the agent runs.
func (s *soak) goroutines(ctx context.Context) (float64, error) {
	text, err := s.profile(ctx, "goroutine", nil)
	if err != nil {
		return 0, err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	n, ok := strings.CutPrefix(string(first), "goroutine profile: total ")
	if !ok {
		return 0, fmt.Errorf("the agent's profile begins with %q", first)
	}
	return strconv.ParseFloat(n, 64)
}

func rssMiB(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("no VmRSS")
}

func entries(dir string) float64 {
	list, _ := os.ReadDir(dir)
	return float64(len(list))
}

// mounts counts those in the lab's directory.
func (s *soak) mounts() float64 {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	return float64(bytes.Count(data, []byte(" "+s.cluster.Dir+"/")))
}

func (s *soak) cgroups() float64 {
	n := 0
	hierarchies, _ := filepath.Glob("/sys/fs/cgroup/*" + s.cluster.CgroupRoot)
	for _, root := range append(hierarchies, filepath.Join("/sys/fs/cgroup", s.cluster.CgroupRoot)) {
		_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				n++
			}
			return nil
		})
	}
	return float64(n)
}

// addresses counts those that the network plugin has given away.
func (s *soak) addresses() float64 {
	files, _ := filepath.Glob(filepath.Join(s.cluster.Dir, "ipam", "*", "[0-9]*"))
	return float64(len(files))
}

// shims counts processes whose command line names the lab's containerd.
func (s *soak) shims() float64 {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, f := range files {
		data, _ := os.ReadFile(f)
		if bytes.Contains(data, []byte("containerd-shim")) && bytes.Contains(data, []byte(s.cluster.Dir+"/")) {
			n++
		}
	}
	return float64(n)
}

func (s *soak) logLinks() float64 {
	links, _ := filepath.Glob("/var/log/containers/*")
	n := 0
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, s.cluster.Dir+"/") {
			n++
		}
	}
	return float64(n)
}

func (s *soak) containers(ctx context.Context) (float64, error) {
	conn, err := s.cluster.Dial()
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	client := cri.NewRuntimeServiceClient(conn)
	sandboxes, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return 0, err
	}
	containers, err := client.ListContainers(ctx, &cri.ListContainersRequest{})
	return float64(len(sandboxes.GetItems()) + len(containers.GetContainers())), err
}

// objects counts what an agent makes in the API, but events, which end by themselves.
func (s *soak) objects(ctx context.Context) (float64, error) {
	n := 0
	for _, path := range []string{
		"/api/v1/pods", "/api/v1/nodes", "/apis/coordination.k8s.io/v1/leases", "/apis/storage.k8s.io/v1/csinodes",
		"/api/v1/configmaps", "/api/v1/secrets", "/apis/certificates.k8s.io/v1/certificatesigningrequests",
	} {
		var list metav1.PartialObjectMetadataList
		raw, err := s.client.Discovery().RESTClient().Get().AbsPath(path).
			SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").DoRaw(ctx)
		if err == nil {
			err = unmarshal(raw, &list)
		}
		if err != nil {
			return 0, err
		}
		n += len(list.Items)
	}
	return float64(n), nil
}

func printHead() {
	fmt.Printf("| %7s | %5s |", "time", "pods")
	for _, col := range columns() {
		fmt.Printf(" %s |", col.name)
	}
	fmt.Print("\n| --- | --- |" + strings.Repeat(" ---: |", len(columns())) + "\n")
}

func printRow(since time.Duration, pods int64, c count) {
	fmt.Printf("| %7s | %5d |", since.Round(time.Second), pods)
	for i, col := range columns() {
		fmt.Printf(" %*.0f |", len(col.name), c[i])
	}
	fmt.Println()
}

// verdict compares the last count with an earlier one.
func verdict(counts []count, failed []error) error {
	var errs []error
	last := counts[len(counts)-1]
	for i, col := range columns() {
		base := col.base(counts, i)
		if limit := base*(1+col.part) + col.more; last[i] > limit {
			errs = append(errs, fmt.Errorf("%s grew from %.0f to %.0f, at most %.0f would be none", col.name, base, last[i], limit))
		}
	}
	for i, err := range failed {
		if i == 10 {
			errs = append(errs, fmt.Errorf("and %d more", len(failed)-i))
			break
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		fmt.Println("\nnothing grew")
	}
	return errors.Join(errs...)
}
