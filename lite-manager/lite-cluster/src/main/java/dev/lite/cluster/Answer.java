package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * What ZooKeeper answered to one request.
 *
 * @param path of the request, for messages
 * @param code {@link Code#OK}, or why it was refused
 * @param value there when the code is OK
 */
record Answer<T>(String path, Code code, @Nullable T value) {

    boolean isOk() {
        return code == Code.OK;
    }

    boolean is(Code other) {
        return code == other;
    }

    /** The value of an answer that is OK; any other code here is one that nothing in the layout explains. */
    T get() {
        if (!isOk() || value == null) {
            throw unexpected();
        }
        return value;
    }

    ClusterUnavailableException unexpected() {
        return new ClusterUnavailableException("ZooKeeper answered %s for %s".formatted(code, path));
    }
}
