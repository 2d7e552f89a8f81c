package kubeletpoll

import (
	"bufio"
	"bytes"
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The histograms that are read. Upstream: pkg/kubelet/metrics/metrics.go.
const (
	callsMetric   = "kubelet_runtime_operations_duration_seconds"
	relistsMetric = "kubelet_pleg_relist_duration_seconds"
	cgroupsMetric = "kubelet_cgroup_manager_duration_seconds"
)

// cgroupOps are the operations on cgroups that a pod's start can wait for, by the kubelet's names for them. Upstream:
// pkg/kubelet/cm/cgroup_manager_linux.go.
var cgroupOps = map[string]trace.CgroupAction{"create": trace.CgroupEnsure, "update": trace.CgroupUpdate}

// operations are the calls that only read, by the kubelet's names for them: whatever else may take long for a reason of its own. Upstream:
// staging/src/k8s.io/cri-client and pkg/kubelet/kuberuntime/instrumented_services.go.
var operations = map[string]string{
	"list_podsandbox": "ListPodSandbox", "podsandbox_status": "PodSandboxStatus", "list_containers": "ListContainers", "container_status": "ContainerStatus",
	"list_images": "ListImages", "image_status": "ImageStatus", "image_fs_info": "ImageFsInfo", "status": "Status", "version": "Version",
	"list_container_stats": "ListContainerStats", "list_podsandbox_stats": "ListPodSandboxStats",
}

// maxLine bounds a line of metrics.
const maxLine = 64 << 10

// histogram is what a histogram says: how many took how long, and at most so long.
type histogram struct {
	count   uint64
	sum     time.Duration
	buckets []bucket
}

type bucket struct {
	most  time.Duration
	count uint64 // that took so long at most
}

// figures are histograms by what they are of.
type figures map[operation]histogram

// operation is a call to the runtime, an operation on cgroups, or, the zero one, a relist.
type operation struct {
	method string
	cgroup trace.CgroupAction
}

// parse reads the chosen ones among a kubelet's metrics.
func parse(text []byte) (figures, error) {
	var chosen bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	for lines.Scan() {
		l := lines.Bytes()
		name := bytes.TrimPrefix(l, []byte("# TYPE "))
		if bytes.HasPrefix(name, []byte(callsMetric)) || bytes.HasPrefix(name, []byte(relistsMetric)) || bytes.HasPrefix(name, []byte(cgroupsMetric)) {
			chosen.Write(l)
			chosen.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(&chosen)
	if err != nil {
		return nil, err
	}
	out := figures{}
	for _, m := range families[relistsMetric].GetMetric() {
		out[operation{}] = read(m.GetHistogram())
	}
	for _, m := range families[callsMetric].GetMetric() {
		for _, l := range m.GetLabel() {
			if method := operations[l.GetValue()]; l.GetName() == "operation_type" && method != "" {
				out[operation{method: method}] = read(m.GetHistogram())
			}
		}
	}
	for _, m := range families[cgroupsMetric].GetMetric() {
		for _, l := range m.GetLabel() {
			if op := cgroupOps[l.GetValue()]; l.GetName() == "operation_type" && op != "" {
				out[operation{cgroup: op}] = read(m.GetHistogram())
			}
		}
	}
	return out, nil
}

func read(h *dto.Histogram) histogram {
	out := histogram{count: h.GetSampleCount(), sum: seconds(h.GetSampleSum())}
	for _, b := range h.GetBucket() {
		if !math.IsInf(b.GetUpperBound(), 1) {
			out.buckets = append(out.buckets, bucket{seconds(b.GetUpperBound()), b.GetCumulativeCount()})
		}
	}
	return out
}

func seconds(f float64) time.Duration {
	if math.IsNaN(f) || f < 0 || f > 1e9 {
		return 0
	}
	return time.Duration(f * float64(time.Second))
}

// longest is how long the longest took, at least, of those since an earlier histogram: as long as those of its bucket on average, where all
// others took as long as their buckets allow.
func (h *histogram) longest(was *histogram) (least time.Duration) {
	if h.count <= was.count || h.sum < was.sum || len(h.buckets) != len(was.buckets) { // nothing since, or another kubelet
		return 0
	}
	n, left, below := h.count-was.count, float64(h.sum-was.sum), uint64(0) // n are above the bucket, and took left
	for i, b := range h.buckets {
		if b.most != was.buckets[i].most || b.count < was.buckets[i].count {
			return 0
		}
		upTo := b.count - was.buckets[i].count // that took so long at most
		if upTo < below {
			return 0
		}
		in := upTo - below
		if in >= n {
			break
		}
		n, below = n-in, upTo
		left -= float64(in) * float64(b.most)
		least = b.most
	}
	return max(least, time.Duration(left/float64(n)))
}
