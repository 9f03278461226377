package dev.lite.manager;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.Leadership;
import dev.lite.cluster.NodeRecord;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** Logs one line for every change of the membership or the leadership. */
@Component
class MembershipLog implements DirectoryListener {
    private static final Logger log = LoggerFactory.getLogger(MembershipLog.class);

    private List<NodeRecord> before = List.of(); // confined to the directory's thread

    MembershipLog(ClusterDirectory directory, Leadership leadership) {
        directory.addListener(this);
        leadership.addListener(leads -> log.info("leadership changed leader={}", leads));
    }

    @Override
    public void nodesChanged(List<NodeRecord> nodes) {
        List<NodeRecord> old = before;
        before = nodes;
        log.info(
                "membership changed nodes={} joined={} left={}",
                nodes.stream().map(NodeRecord::name).toList(),
                without(nodes, old),
                without(old, nodes));
    }

    /** A node that registered again with a new incarnation has both left and joined. */
    private static List<String> without(List<NodeRecord> nodes, List<NodeRecord> others) {
        return nodes.stream()
                .filter(node -> !others.contains(node))
                .map(node -> "%s(id=%d,incarnation=%d)".formatted(node.name(), node.id(), node.incarnation()))
                .toList();
    }
}
