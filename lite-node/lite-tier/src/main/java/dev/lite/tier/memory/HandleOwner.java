package dev.lite.tier.memory;

import dev.lite.api.LmrHandle;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.session.async.AsyncOperations;
import dev.lite.tier.RemoteWork;
import java.util.Set;

/** The session of an application, which owns {@link Mapping}s as its handles. Any thread. */
public interface HandleOwner extends MappingOwner {
    /** The principal that uses the handles. */
    String principal();

    /** Work by other nodes on their memory. */
    RemoteWork remoteWork();

    /** The asynchronous operations of the session. */
    AsyncOperations async();

    /** See {@link LmrHandle#free}; ends every mapping of the LMR, including this one. */
    void free(Mapping mapping, Deadline deadline);

    /** See {@link LmrHandle#grant}. */
    void grant(Mapping mapping, String principal, Set<Permission> permissions, Deadline deadline);

    /** See {@link LmrHandle#moveTo}. */
    void moveTo(Mapping mapping, String node, Deadline deadline);

    @Override
    default int allowed(LmrRecord lmr) {
        return lmr.permissionsOf(principal());
    }
}
