package promcheck

import "time"

// ruleCase are series from which an alert fires, or does not.
type ruleCase struct {
	alert, name string
	series      string
	want        string // labels of what fires
	step, at    time.Duration
}

const on = `cluster="c",node="n"`

// A start of 32 to 64 s, and of 0.5 to 1 s, each minute.
const (
	slowNative = `kubeloupe_pod_start_seconds{` + on + `,outcome="ready"} {{schema:0}}+{{schema:0 sum:50 count:1 offset:6 buckets:[1]}}x60` + "\n"
	fastNative = `kubeloupe_pod_start_seconds{` + on + `,outcome="ready"} {{schema:0}}+{{schema:0 sum:0.7 count:1 offset:0 buckets:[1]}}x60` + "\n"
	readyTotal = `kubeloupe_pod_starts_total{` + on + `,outcome="ready"} 0+1x60` + "\n"
)

func classic(le30, le120 string) string {
	s := ""
	for le, v := range map[string]string{"0.5": "0x60", "30": le30, "120": le120, "+Inf": le120} {
		s += `kubeloupe_pod_start_seconds_bucket{` + on + `,outcome="ready",le="` + le + `"} ` + v + "\n"
	}
	return s
}

var ruleCases = []ruleCase{
	{alert: "KubeloupePodStartsSlow", name: "native", series: slowNative + readyTotal, want: `{cluster="c", node="n"}`},
	{alert: "KubeloupePodStartsSlow", name: "classic", series: classic("0x60", "0+1x60") + readyTotal, want: `{cluster="c", node="n"}`},
	{alert: "KubeloupePodStartsSlow", name: "fast", series: fastNative + readyTotal},
	{alert: "KubeloupePodStartsSlow", name: "fast, classic", series: classic("0+1x60", "0+1x60") + readyTotal},
	{alert: "KubeloupePodStartsSlow", name: "two starts only", series: `
kubeloupe_pod_start_seconds{` + on + `,outcome="ready"} {{schema:0}}x40 {{schema:0 sum:50 count:1 offset:6 buckets:[1]}}x5 {{schema:0 sum:100 count:2 offset:6 buckets:[2]}}x15
kubeloupe_pod_starts_total{` + on + `,outcome="ready"} 0x40 1x5 2x15`},
	{alert: "KubeloupePodStartsSlow", name: "on another node", series: slowNative + `kubeloupe_pod_starts_total{cluster="c",node="other",outcome="ready"} 0+1x60`},

	{alert: "KubeloupePodStartsFail", name: "half", series: readyTotal + `kubeloupe_pod_starts_total{` + on + `,outcome="failed"} 0+1x60`, want: `{cluster="c", node="n"}`},
	{alert: "KubeloupePodStartsFail", name: "unfinished", series: `kubeloupe_pod_starts_total{` + on + `,outcome="unfinished"} 0+1x60`, want: `{cluster="c", node="n"}`},
	{alert: "KubeloupePodStartsFail", name: "one in ten", series: `
kubeloupe_pod_starts_total{` + on + `,outcome="ready"} 0+9x60
kubeloupe_pod_starts_total{` + on + `,outcome="failed"} 0+1x60`},
	{alert: "KubeloupePodStartsFail", name: "one of two", series: `
kubeloupe_pod_starts_total{` + on + `,outcome="ready"} 0x40 1x20
kubeloupe_pod_starts_total{` + on + `,outcome="failed"} 0x45 1x15`},

	{alert: "KubeloupeCauseGrows", name: "new", step: 5 * time.Minute, at: 30 * time.Hour, want: `{cause="KL02", cluster="c"}`, series: `
kubeloupe_pod_starts_total{` + on + `,outcome="ready"} 0+3x361
kubeloupe_pod_start_causes_total{` + on + `,cause="KL02"} _x300 0+2x60
kubeloupe_pod_start_causes_total{` + on + `,cause="KL05"} 0+2x361
kubeloupe_pod_start_causes_total{` + on + `,cause="KL06"} 0x300 0+0.5x60`},
	{alert: "KubeloupeCauseGrows", name: "in the first day", step: 5 * time.Minute, at: 20 * time.Hour, series: `
kubeloupe_pod_starts_total{` + on + `,outcome="ready"} 0+3x241
kubeloupe_pod_starts_total{cluster="other",node="n",outcome="ready"} 0+3x361
kubeloupe_pod_start_causes_total{` + on + `,cause="KL02"} 0+2x241`},
	{alert: "KubeloupeCauseGrows", name: "as the day before", step: 5 * time.Minute, at: 30 * time.Hour, series: `
kubeloupe_pod_starts_total{` + on + `,outcome="ready"} 0+3x361
kubeloupe_pod_start_causes_total{` + on + `,cause="KL02"} 0+2x361`},

	{alert: "KubeloupeCauseCosts", name: "most of the time", series: slowNative + readyTotal + `
kubeloupe_pod_start_cause_seconds{` + on + `,cause="KL02"} {{schema:0}}+{{schema:0 sum:40 count:1 offset:6 buckets:[1]}}x60
kubeloupe_pod_start_cause_seconds{` + on + `,cause="KL05"} {{schema:0}}+{{schema:0 sum:5 count:1 offset:3 buckets:[1]}}x60`, want: `{cause="KL02", cluster="c", node="n"}`},
	{alert: "KubeloupeCauseCosts", name: "classic", series: readyTotal + `
kubeloupe_pod_start_seconds_sum{` + on + `,outcome="ready"} 0+50x60
kubeloupe_pod_start_cause_seconds_sum{` + on + `,cause="KL02"} 0+40x60`, want: `{cause="KL02", cluster="c", node="n"}`},
	{alert: "KubeloupeCauseCosts", name: "a tenth", series: readyTotal + `
kubeloupe_pod_start_seconds_sum{` + on + `,outcome="ready"} 0+50x60
kubeloupe_pod_start_cause_seconds_sum{` + on + `,cause="KL02"} 0+5x60`},

	{alert: "KubeloupeRuntimeErrors", name: "a fifth", want: `{cluster="c", node="n", operation_type="pull_image"}`, series: `
kubelet_runtime_operations_errors_total{` + on + `,job="kubeloupe",operation_type="pull_image"} 0+1x60
kubelet_runtime_operations_total{` + on + `,job="kubeloupe",operation_type="pull_image"} 0+5x60
kubelet_runtime_operations_total{` + on + `,job="kubeloupe",operation_type="status"} 0+5x60`},
	{alert: "KubeloupeRuntimeErrors", name: "one in a hundred", series: `
kubelet_runtime_operations_errors_total{` + on + `,job="kubeloupe",operation_type="pull_image"} 0+1x60
kubelet_runtime_operations_total{` + on + `,job="kubeloupe",operation_type="pull_image"} 0+100x60`},
	{alert: "KubeloupeRuntimeErrors", name: "one", series: `
kubelet_runtime_operations_errors_total{` + on + `,job="kubeloupe",operation_type="pull_image"} 0x55 1x5
kubelet_runtime_operations_total{` + on + `,job="kubeloupe",operation_type="pull_image"} 0x55 1x5`},

	{alert: "KubeloupeSpansLost", name: "dropped", series: `kubeloupe_exported_spans_total{` + on + `,job="kubeloupe",result="dropped"} 0+1x60`, want: `{cluster="c", job="kubeloupe", node="n", result="dropped"}`},
	{alert: "KubeloupeSpansLost", name: "refused", series: `kubeloupe_exported_spans_total{` + on + `,job="kubeloupe-attach",result="refused"} 0+1x60`, want: `{cluster="c", job="kubeloupe-attach", node="n", result="refused"}`},
	{alert: "KubeloupeSpansLost", name: "sent", series: `
kubeloupe_exported_spans_total{` + on + `,job="kubeloupe",result="sent"} 0+1x60
kubeloupe_exported_spans_total{` + on + `,job="kubeloupe",result="dropped"} 7x60`},

	{alert: "KubeloupeSpansNotSent", name: "never", series: `kubeloupe_export_queue_spans{` + on + `,job="kubeloupe"} 10x60`, want: `{cluster="c", job="kubeloupe", node="n"}`},
	{alert: "KubeloupeSpansNotSent", name: "no more", want: `{cluster="c", job="kubeloupe", node="n"}`, series: `
kubeloupe_export_queue_spans{` + on + `,job="kubeloupe"} 10x60
kubeloupe_exported_spans_total{` + on + `,job="kubeloupe",result="sent"} 0+5x20 100x40`},
	{alert: "KubeloupeSpansNotSent", name: "they are sent", series: `
kubeloupe_export_queue_spans{` + on + `,job="kubeloupe"} 10x60
kubeloupe_exported_spans_total{` + on + `,job="kubeloupe",result="sent"} 0+5x60`},
	{alert: "KubeloupeSpansNotSent", name: "none waits", series: `kubeloupe_export_queue_spans{` + on + `,job="kubeloupe"} 0x60`},

	{alert: "KubeloupeDown", name: "down", series: `up{` + on + `,job="kubeloupe",instance="i"} 1x50 0x10`, want: `{cluster="c", instance="i", job="kubeloupe", node="n"}`},
	{alert: "KubeloupeDown", name: "up", series: `up{` + on + `,job="kubeloupe-attach",instance="i"} 1x60`},
	{alert: "KubeloupeDown", name: "another job", series: `up{` + on + `,job="node",instance="i"} 0x60`},
	{alert: "KubeloupeDown", name: "for a minute", series: `up{` + on + `,job="kubeloupe",instance="i"} 1x58 0x2`},

	{alert: "KubeloupeAbsent", name: "no target", series: `up{job="node"} 1x60`, want: `{}`},
	{alert: "KubeloupeAbsent", name: "a target", series: `up{` + on + `,job="kubeloupe-attach"} 0x60`},

	{alert: "KubeloupeRestarts", name: "agent", series: `process_start_time_seconds{` + on + `,job="kubeloupe",instance="i"} 1x10 2x10 3x10 4x30`, want: `{cluster="c", instance="i", job="kubeloupe", node="n"}`},
	{alert: "KubeloupeRestarts", name: "attach", series: `kubeloupe_records_total{` + on + `,job="kubeloupe-attach",instance="i",kind="log"} 0+10x9 0+10x9 0+10x9 0+10x32`, want: `{cluster="c", instance="i", job="kubeloupe-attach", node="n"}`},
	{alert: "KubeloupeRestarts", name: "one", series: `
process_start_time_seconds{` + on + `,job="kubeloupe",instance="i"} 1x10 2x50
kubeloupe_records_total{` + on + `,job="kubeloupe-attach",instance="i",kind="log"} 0+10x29 0+10x30`},

	{alert: "KubeloupeRecordsLost", name: "lost", series: `kubeloupe_records_lost_total{` + on + `,job="kubeloupe",instance="i"} 0+1x60`, want: `{cluster="c", instance="i", job="kubeloupe", node="n"}`},
	{alert: "KubeloupeRecordsLost", name: "once lost", series: `kubeloupe_records_lost_total{` + on + `,job="kubeloupe",instance="i"} 5x60`},
}
