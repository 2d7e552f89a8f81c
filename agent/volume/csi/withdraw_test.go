package csi

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"testing"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// lost is a driver that does not know where its node is. ask, if set, is called first.
type lost struct {
	csipb.UnimplementedNodeServer
	ask func()
}

func (l *lost) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	if l.ask != nil {
		l.ask()
	}
	return nil, errors.New("no metadata")
}

// A driver of an earlier agent that cannot register now is no driver of the node, unless this agent ends meanwhile, or has a driver of that name.
func TestWithdraw(t *testing.T) {
	for _, c := range []struct {
		name      string
		ends, has bool
		want      []string
	}{
		{name: "fails", want: []string{"other"}},
		{name: "the agent ends", ends: true, want: []string{"d", "other"}},
		{name: "another one is registered", has: true, want: []string{"d", "other"}},
	} {
		api := fake.NewClientset(
			&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", Annotations: map[string]string{nodeIDs: `{"d":"1"}`}}},
			&storagev1.CSINode{
				ObjectMeta: metav1.ObjectMeta{Name: "n", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "n", UID: "u"}}},
				Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "d", NodeID: "1"}, {Name: "other", NodeID: "1"}}},
			})
		p := newPlugin(t, api)
		socket := filepath.Join(p.cfg.RootDir, "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := &lost{}
		if c.ends {
			d.ask = cancel
		}
		if c.has {
			p.drivers["d"] = &driver{name: "d", endpoint: socket}
		}
		s := grpc.NewServer()
		csipb.RegisterNodeServer(s, d)
		go func() { _ = s.Serve(l) }()
		defer s.Stop()
		if err := p.Register(ctx, "d", socket, []string{"1.0.0"}); err == nil {
			t.Errorf("%s: registered", c.name)
		}
		node, err := api.StorageV1().CSINodes().Get(t.Context(), "n", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range node.Spec.Drivers {
			names = append(names, one.Name)
		}
		if slices.Sort(names); !slices.Equal(names, c.want) {
			t.Errorf("%s: drivers %q, want %q", c.name, names, c.want)
		}
	}
}
