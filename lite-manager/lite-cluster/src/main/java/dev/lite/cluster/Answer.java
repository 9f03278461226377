package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * ZooKeeper's answer to one request.
 *
 * @param path the path of the request, for messages
 * @param code {@link Code#OK}, or the reason for the failure
 * @param value the result; present when the code is OK
 */
record Answer<T>(String path, Code code, @Nullable T value) {

    boolean isOk() {
        return code == Code.OK;
    }

    boolean is(Code other) {
        return code == other;
    }

    /** The value if the code is OK; any other code here is unexpected, and thrown. */
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
