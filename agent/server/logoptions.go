package server

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// logOptions decodes the query. Old clients send tail instead of tailLines.
//
// Upstream: the conversion that is generated for v1.PodLogOptions.
func logOptions(q url.Values) (*v1.PodLogOptions, error) {
	if tail := q.Get("tail"); tail == "all" {
		q.Del("tailLines")
	} else if tail != "" {
		q.Set("tailLines", tail)
	}
	o := &v1.PodLogOptions{Follow: queryBool(q, "follow"), Previous: queryBool(q, "previous"), Timestamps: queryBool(q, "timestamps")}
	for name, to := range map[string]**int64{"tailLines": &o.TailLines, "limitBytes": &o.LimitBytes, "sinceSeconds": &o.SinceSeconds} {
		if q.Has(name) {
			n, err := strconv.ParseInt(q.Get(name), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			*to = &n
		}
	}
	if q.Has("sinceTime") {
		o.SinceTime = &metav1.Time{} // an empty value means the zero time
		if v := q.Get("sinceTime"); v != "" && v != "null" {
			at, err := time.Parse(time.RFC3339, v)
			if err != nil {
				return nil, fmt.Errorf("sinceTime: %w", err)
			}
			*o.SinceTime = metav1.NewTime(at)
		}
	}
	if q.Has("stream") {
		o.Stream = new(q.Get("stream"))
	}
	return o, nil
}

// queryBool returns a boolean parameter; one without a value is true.
func queryBool(q url.Values, name string) bool {
	return q.Has(name) && q.Get(name) != "0" && !strings.EqualFold(q.Get(name), "false")
}

// Upstream: pkg/apis/core/v1/validation, ValidatePodLogOptions.
func validLogOptions(o *v1.PodLogOptions) bool {
	stream := v1.LogStreamAll
	if o.Stream != nil {
		stream = *o.Stream
	}
	switch {
	case o.TailLines != nil && *o.TailLines < 0,
		o.LimitBytes != nil && *o.LimitBytes < 1,
		o.SinceSeconds != nil && (*o.SinceSeconds < 1 || o.SinceTime != nil),
		stream != v1.LogStreamAll && stream != v1.LogStreamStdout && stream != v1.LogStreamStderr,
		stream != v1.LogStreamAll && o.TailLines != nil:
		return false
	}
	return true
}
