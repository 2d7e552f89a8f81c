package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/mount-utils"
)

// node shows volumes on the node, by bind mounts.
type node struct {
	csipb.UnimplementedNodeServer
	d *driver
}

func checkID(id string) error {
	if id == "" || strings.ContainsAny(id, "/\x00") || strings.HasPrefix(id, ".") {
		return status.Errorf(codes.InvalidArgument, "volume id %q", id)
	}
	return nil
}

func (d *driver) volume(id string) string { return filepath.Join(d.data, id) }

func (n node) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	return &csipb.NodeGetInfoResponse{
		NodeId: n.d.node, MaxVolumesPerNode: n.d.maxVolumes,
		AccessibleTopology: &csipb.Topology{Segments: map[string]string{topologyKey: n.d.node}},
	}, nil
}

func (n node) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	types := []csipb.NodeServiceCapability_RPC_Type{csipb.NodeServiceCapability_RPC_GET_VOLUME_STATS}
	if !n.d.noStage {
		types = append(types, csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME)
	}
	if !n.d.noExpand {
		types = append(types, csipb.NodeServiceCapability_RPC_EXPAND_VOLUME)
	}
	resp := &csipb.NodeGetCapabilitiesResponse{}
	for _, t := range types {
		resp.Capabilities = append(resp.Capabilities, &csipb.NodeServiceCapability{
			Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: t}},
		})
	}
	return resp, nil
}

func (n node) NodeStageVolume(_ context.Context, req *csipb.NodeStageVolumeRequest) (*csipb.NodeStageVolumeResponse, error) {
	if err := checkID(req.GetVolumeId()); err != nil {
		return nil, err
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if req.GetVolumeCapability().GetBlock() != nil {
		return &csipb.NodeStageVolumeResponse{}, nil
	}
	return &csipb.NodeStageVolumeResponse{}, n.d.bind(n.d.volume(req.GetVolumeId()), req.GetStagingTargetPath(), false)
}

func (n node) NodeUnstageVolume(_ context.Context, req *csipb.NodeUnstageVolumeRequest) (*csipb.NodeUnstageVolumeResponse, error) {
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	return &csipb.NodeUnstageVolumeResponse{}, n.d.unbind(req.GetStagingTargetPath())
}

func (n node) NodePublishVolume(_ context.Context, req *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	if err := checkID(req.GetVolumeId()); err != nil {
		return nil, err
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	source := n.d.volume(req.GetVolumeId())
	resp := &csipb.NodePublishVolumeResponse{}
	if req.GetVolumeCapability().GetBlock() != nil {
		return resp, n.d.bindFile(source+".img", req.GetTargetPath())
	}
	inline := req.GetVolumeContext()["csi.storage.k8s.io/ephemeral"] == "true"
	switch {
	case inline || n.d.noStage:
	case req.GetStagingTargetPath() == "":
		return nil, status.Error(codes.FailedPrecondition, "the volume has to be staged first")
	default:
		if mounted, err := n.d.mounter.IsMountPoint(req.GetStagingTargetPath()); err != nil || !mounted {
			return nil, status.Errorf(codes.FailedPrecondition, "the volume is not staged: %v", err)
		}
		source = req.GetStagingTargetPath()
	}
	return resp, n.d.bind(source, req.GetTargetPath(), req.GetReadonly())
}

func (n node) NodeUnpublishVolume(_ context.Context, req *csipb.NodeUnpublishVolumeRequest) (*csipb.NodeUnpublishVolumeResponse, error) {
	if err := checkID(req.GetVolumeId()); err != nil {
		return nil, err
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if err := n.d.unbind(req.GetTargetPath()); err != nil {
		return nil, err
	}
	// The kubelet names inline volumes so; they end with their pod.
	if id := req.GetVolumeId(); strings.HasPrefix(id, "csi-") && len(id) == len("csi-")+64 {
		if err := os.RemoveAll(n.d.volume(id)); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return &csipb.NodeUnpublishVolumeResponse{}, nil
}

func (n node) NodeExpandVolume(_ context.Context, req *csipb.NodeExpandVolumeRequest) (*csipb.NodeExpandVolumeResponse, error) {
	if err := checkID(req.GetVolumeId()); err != nil {
		return nil, err
	}
	size := req.GetCapacityRange().GetRequiredBytes()
	if err := os.WriteFile(n.d.volume(req.GetVolumeId())+".size", strconv.AppendInt(nil, size, 10), 0o600); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csipb.NodeExpandVolumeResponse{CapacityBytes: size}, nil
}

func (n node) NodeGetVolumeStats(_ context.Context, req *csipb.NodeGetVolumeStatsRequest) (*csipb.NodeGetVolumeStatsResponse, error) {
	if _, err := os.Stat(req.GetVolumePath()); err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	return &csipb.NodeGetVolumeStatsResponse{Usage: []*csipb.VolumeUsage{{Unit: csipb.VolumeUsage_BYTES, Total: 1 << 30, Used: 1 << 20, Available: 1<<30 - 1<<20}}}, nil
}

// bind shows a directory, which is made if necessary, at a path. Again it changes nothing.
func (d *driver) bind(source, at string, readOnly bool) error {
	if err := errors.Join(os.MkdirAll(source, 0o777), os.MkdirAll(at, 0o750)); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return d.mountOnce(source, at, readOnly)
}

// bindFile is bind for a file that stands in for a device.
func (d *driver) bindFile(source, at string) error {
	for _, path := range []string{source, at} {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
		if err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		_ = f.Close()
	}
	return d.mountOnce(source, at, false)
}

func (d *driver) mountOnce(source, at string, readOnly bool) error {
	if mounted, err := d.mounter.IsMountPoint(at); err != nil || mounted {
		return err
	}
	options := []string{"bind"}
	if readOnly {
		options = append(options, "ro")
	}
	if err := d.mounter.Mount(source, at, "", options); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

func (d *driver) unbind(at string) error {
	if err := mount.CleanupMountPoint(at, d.mounter, true); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}
