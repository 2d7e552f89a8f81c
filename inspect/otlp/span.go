package otlp

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// span is one span, with its pod once that is known.
type span struct {
	trace      trace.TraceID
	id, parent trace.SpanID
	pod        trace.Pod
	in         trace.TraceID // the trace of its call, which differs if another program sends both
	cni        string        // the command of a plugin's run, whose trace and call are found by its pod
	event      trace.RuntimeSpan
	observer   trace.Observer // who observed it, and how late that may have been
	lag        time.Duration
}

func spanOf(pb *tracepb.Span, service string) (span, error) {
	if len(pb.GetTraceId()) != 16 || len(pb.GetSpanId()) != 8 || pb.GetStartTimeUnixNano() > math.MaxInt64 {
		return span{}, errNoID
	}
	s := span{
		trace:    trace.TraceID{Hi: binary.BigEndian.Uint64(pb.TraceId), Lo: binary.BigEndian.Uint64(pb.TraceId[8:])},
		id:       trace.SpanID(binary.BigEndian.Uint64(pb.SpanId)),
		parent:   spanID(pb.GetParentSpanId()),
		observer: trace.ObserverRuntimeSpan,
	}
	if s.trace.IsZero() || s.id == 0 {
		return span{}, errNoID
	}
	if service == kubeletService {
		s.observer = trace.ObserverKubeletSpan
	}
	s.event = trace.RuntimeSpan{
		Name: cut(pb.GetName(), maxValue), Service: service, Start: int64(pb.GetStartTimeUnixNano()),
		Err: failure(pb), Attrs: append(attributes(pb.GetAttributes()), events(pb)...),
	}
	if end := pb.GetEndTimeUnixNano(); end > pb.GetStartTimeUnixNano() && end <= math.MaxInt64 {
		s.event.Dur = time.Duration(end - pb.GetStartTimeUnixNano())
	}
	return s, nil
}

func spanID(b []byte) trace.SpanID {
	if len(b) != 8 {
		return 0
	}
	return trace.SpanID(binary.BigEndian.Uint64(b))
}

// failure returns the error of a span. containerd records some errors without setting the status
// (cni.setup_pod_network), so an exception counts unless the status is ok.
func failure(pb *tracepb.Span) string {
	code := pb.GetStatus().GetCode()
	if code == tracepb.Status_STATUS_CODE_OK {
		return ""
	}
	err := pb.GetStatus().GetMessage()
	for _, e := range pb.GetEvents() {
		if e.GetName() != "exception" || err != "" {
			continue
		}
		for _, kv := range e.GetAttributes() {
			if kv.GetKey() == "exception.message" {
				err = text(kv.GetValue())
			}
		}
	}
	if err == "" && code == tracepb.Status_STATUS_CODE_ERROR {
		err = "it failed, without saying why"
	}
	return cut(query.ReplaceAllString(err, "$1"), maxValue)
}

// query matches the query of a URL within a text.
var query = regexp.MustCompile(`(://[^\s"?]*)\?[^\s"]*`)

// events returns the events within a span as attributes: the time of each since its start.
func events(pb *tracepb.Span) (out []trace.KV) {
	for _, e := range pb.GetEvents() {
		at, from := e.GetTimeUnixNano(), pb.GetStartTimeUnixNano()
		if e.GetName() == "exception" || e.GetName() == "" || at < from || at > math.MaxInt64 {
			continue
		}
		if len(out) >= maxEvents {
			break
		}
		out = append(out, trace.KV{K: cut("event."+e.GetName(), maxKey), V: time.Duration(at - from).String()})
	}
	return out
}

// dull are attributes, or prefixes of them, without useful information.
var dull = []string{
	"rpc.system", "rpc.system.name", "rpc.service", "rpc.method", "message.", "net.", "network.", "server.", "client.", "thread.",
	"code.", "user_agent.", "namespace", "telemetry.", "process.runtime.", "descriptor.child.",
}

// attributes returns the first useful attributes.
func attributes(in []*common.KeyValue) []trace.KV {
	var out []trace.KV
	for _, kv := range in {
		if len(out) >= maxAttrs {
			break
		}
		v := cut(public(kv.GetKey(), text(kv.GetValue())), maxValue)
		if kv.GetKey() == "" || v == "" || v == "<nil>" || isDull(kv.GetKey()) || isOK(kv.GetKey(), v) {
			continue
		}
		out = append(out, trace.KV{K: cut(kv.GetKey(), maxKey), V: v})
	}
	return out
}

// public leaves out of an address what may let others in: names with passwords, and queries, in
// which signed addresses of registries have their signatures.
func public(key, v string) string {
	if key == "url.query" {
		return ""
	}
	if !strings.Contains(v, "://") {
		return v
	}
	v, _, _ = strings.Cut(v, "?")
	scheme, rest, _ := strings.Cut(v, "://")
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if path != "" {
		host += "/" + path
	}
	return scheme + "://" + host
}

// isOK reports whether an attribute only says that a call did not fail.
func isOK(key, v string) bool {
	return strings.HasSuffix(key, ".status_code") && (v == "OK" || v == "0")
}

func isDull(key string) bool {
	for _, d := range dull {
		if key == d || strings.HasSuffix(d, ".") && strings.HasPrefix(key, d) {
			return true
		}
	}
	return false
}

// text writes a value for people; of a list, its scalars.
func text(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	case *common.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *common.AnyValue_DoubleValue:
		return strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)
	case *common.AnyValue_BytesValue:
		return hex.EncodeToString(v.BytesValue[:min(len(v.BytesValue), maxValue)])
	case *common.AnyValue_ArrayValue:
		var parts []string
		for _, e := range v.ArrayValue.GetValues()[:min(len(v.ArrayValue.GetValues()), maxAttrs)] {
			if _, nested := e.GetValue().(*common.AnyValue_ArrayValue); !nested {
				parts = append(parts, text(e))
			}
		}
		return strings.Join(parts, " ")
	}
	return ""
}

// cut shortens s to at most n bytes of whole characters.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= n {
		return s
	}
	const more = "…"
	end := n - len(more)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return cmp.Or(s[:end], "") + more
}
