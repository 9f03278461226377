package dev.lite.manager.web;

import dev.lite.manager.nodes.NodeState;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Who holds and who awaits locks, from the states of all nodes. */
final class LockHolders {
    private final Map<String, LockView.Holder> holders = new HashMap<>();
    private final Map<String, Map<?, ?>> waitersByHome = new HashMap<>();
    private boolean complete = true;

    /** @param states by node name */
    LockHolders(Map<String, NodeState> states) {
        states.forEach((node, reported) -> {
            Map<String, Object> state = reported.state();
            if (state == null || !(state.get("lockWaiters") instanceof Map<?, ?> waiters)) {
                complete = false;
                return;
            }
            waitersByHome.put(node, waiters);
            if (state.get("sessions") instanceof List<?> sessions) {
                sessions.forEach(session -> addHolder(node, session));
            }
        });
    }

    private void addHolder(String node, Object session) {
        if (session instanceof Map<?, ?> fields && fields.get("locks") instanceof List<?> locks) {
            LockView.Holder holder = new LockView.Holder(
                    node,
                    String.valueOf(fields.get("application")),
                    String.valueOf(fields.get("principal")),
                    number(fields.get("id")),
                    number(fields.get("pid")));
            locks.forEach(lock -> holders.put(String.valueOf(lock), holder));
        }
    }

    private static long number(@Nullable Object value) {
        return value instanceof Number number ? number.longValue() : 0;
    }

    /** The lock with what is known about its holder and waiters. */
    LockView with(LockView lock) {
        LockView.Holder holder = holders.get(lock.name());
        Map<?, ?> waiters = lock.node() == null ? null : waitersByHome.get(lock.node());
        Boolean taken = holder != null ? Boolean.TRUE : complete ? Boolean.FALSE : null;
        return new LockView(
                lock.name(),
                lock.id(),
                lock.node(),
                lock.nodeId(),
                taken,
                holder,
                waiters == null ? null : number(waiters.get(lock.id())));
    }
}
