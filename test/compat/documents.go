package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
	podresourcesalpha "k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
	pods "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// format says what the facts of a response are.
type format int

const (
	asText    format = iota // its lines
	asJSON                  // all values
	asFigures               // all values, but of numbers only that they are
	asMetrics               // families
)

// document is a response with a content that is compared.
type document struct {
	// path is requested by method, by default GET, with this Accept header.
	path, method, accept string
	format               format
	// told are labels of metrics of which each value is compared.
	told []string
}

// documents are those of the HTTPS server.
var documents = []document{
	{path: "/pods", format: asJSON},
	{path: "/runningpods/", format: asJSON},
	{path: "/configz", format: asJSON},
	{path: "/stats/summary", format: asFigures},
	{path: "/stats/summary?only_cpu_and_memory=true", format: asFigures},
	{path: "/metrics", format: asMetrics, told: []string{"operation_type", "resource_name", "manager_name", "hook_type", "reason", "policy", "resource", "plugin_name"}},
	{path: "/metrics/cadvisor", format: asMetrics},
	{path: "/metrics/resource", format: asMetrics},
	{path: "/metrics/probes", format: asMetrics, told: []string{"probe_type", "result"}},
	{path: "/metrics/slis", format: asMetrics, told: []string{"name", "type"}},
	{path: "/healthz"},
	{path: "/healthz?verbose"},
	{path: "/healthz/ping"},
	{path: "/healthz/log"},
	{path: "/healthz/syncloop"},
	{path: "/statusz", accept: "application/json;as=Statusz;v=v1beta1;g=config.k8s.io", format: asFigures},
	{path: "/flagz", accept: "application/json;as=Flagz;v=v1beta1;g=config.k8s.io", format: asJSON},
	{path: "/containerLogs/${NS}/web/main?timestamps=false"},
	{path: "/containerLogs/${NS}/web/first"},
	{path: "/containerLogs/${NS}/web/none"},
	{path: "/containerLogs/${NS}/missing/main"},
	{path: "/run/${NS}/web/main?cmd=cat%20/config/key", method: http.MethodPost},
	{path: "/checkpoint/${NS}/web/none", method: http.MethodPost},
	{path: "/checkpoint/${NS}/web/main", method: http.MethodPost},
	{path: "/debug/flags/v"},
}

func (d document) name() string {
	name := d.path
	if d.method != "" {
		name = d.method + " " + name
	}
	if d.accept != "" {
		name += " as JSON"
	}
	return name
}

// reader reads the contents of an agent's responses.
type reader struct {
	spoken
	// address is the HTTPS server's, root the agent's root directory.
	address, root string
	who           tls.Certificate
}

// read reads all documents, of the HTTPS server and of the local sockets.
func (r reader) read(ctx context.Context) (contents, error) {
	out := contents{}
	client := &http.Client{
		Timeout: 2 * time.Minute,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{r.who},
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	for _, d := range documents {
		f, err := r.fetch(ctx, client, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name(), err)
		}
		out[d.name()] = f
	}
	return out, r.sockets(ctx, out)
}

func (r reader) fetch(ctx context.Context, client *http.Client, d document) (facts, error) {
	method := d.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, "https://"+r.address+strings.ReplaceAll(d.path, "${NS}", sceneNamespace), nil)
	if err != nil {
		return nil, err
	}
	if d.accept != "" {
		req.Header.Set("Accept", d.accept)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // it was read
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var f facts
	switch {
	case res.StatusCode != http.StatusOK || d.format == asText:
		f = r.lines(body)
	case d.format == asMetrics:
		f, err = r.metrics(body, d.told)
	default:
		f, err = r.json(body, d.format == asFigures)
	}
	if err != nil {
		return nil, err
	}
	f.add("status", fmt.Sprint(res.StatusCode))
	return f, nil
}

// apart is between two requests: the services take at most ten at once, and 100 in a second.
const apart = 50 * time.Millisecond

// sockets reads the answers of the gRPC services for programs on the node.
func (r reader) sockets(ctx context.Context, out contents) error {
	resources, err := dial(filepath.Join(r.root, "pod-resources", "kubelet.sock"))
	if err != nil {
		return err
	}
	defer func() { _ = resources.Close() }() // all answers were read
	all, err := dial(filepath.Join(r.root, "pods-api", "pods-api.sock"))
	if err != nil {
		return err
	}
	defer func() { _ = all.Close() }() // as above
	v1c, alpha, api := podresources.NewPodResourcesListerClient(resources), podresourcesalpha.NewPodResourcesListerClient(resources), pods.NewPodsClient(all)
	get := func(namespace, name string) func() (proto.Message, error) {
		return func() (proto.Message, error) {
			return v1c.Get(ctx, &podresources.GetPodResourcesRequest{PodNamespace: namespace, PodName: name})
		}
	}
	for name, call := range map[string]func() (proto.Message, error){
		"podresources v1 List": func() (proto.Message, error) { return v1c.List(ctx, &podresources.ListPodResourcesRequest{}) },
		"podresources v1 GetAllocatableResources": func() (proto.Message, error) {
			return v1c.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
		},
		"podresources v1 Get holder":     get(sceneNamespace, "holder"),
		"podresources v1 Get web":        get(sceneNamespace, "web"),
		"podresources v1 Get crash":      get(sceneNamespace, "crash"),
		"podresources v1 Get once":       get(sceneNamespace, "once"),
		"podresources v1 Get none":       get(sceneNamespace, "none"),
		"podresources v1 Get of nothing": get("", ""),
		"podresources v1alpha1 List": func() (proto.Message, error) {
			return alpha.List(ctx, &podresourcesalpha.ListPodResourcesRequest{})
		},
		"pods API GetPod none": func() (proto.Message, error) { return api.GetPod(ctx, &pods.GetPodRequest{PodUID: "none"}) },
	} {
		time.Sleep(apart)
		answer, err := call()
		if err != nil {
			out[name] = facts{"error": r.text(err.Error())}
			continue
		}
		text, err := protojson.Marshal(answer)
		if err != nil {
			return err
		}
		if out[name], err = r.json(text, false); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	out["pods API ListPods"], err = r.list(ctx, api)
	return err
}

// list are the pods of the pods API.
func (r reader) list(ctx context.Context, api pods.PodsClient) (facts, error) {
	answer, err := api.ListPods(ctx, &pods.ListPodsRequest{})
	if err != nil {
		return facts{"error": r.text(err.Error())}, nil
	}
	list := v1.PodList{}
	for _, text := range answer.Pods {
		var p v1.Pod
		if err := p.Unmarshal(text); err != nil {
			return nil, err
		}
		list.Items = append(list.Items, p)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return r.json(text, false)
}

// dial connects to a socket of the agent's, which refuses nothing yet.
func dial(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}))
}
