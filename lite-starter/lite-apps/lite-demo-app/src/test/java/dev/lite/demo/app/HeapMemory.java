package dev.lite.demo.app;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** LMRs on the heap of this JVM, for both applications in one process. One lock guards everything. */
final class HeapMemory implements LtMemory {

    private final Map<String, Lmr> named = new HashMap<>();

    /** A session with a node of this name. */
    Lite session(String node) {
        return new Lite() {
            @Override
            public LtRpc rpc() {
                throw new UnsupportedOperationException("this session is for memory");
            }

            @Override
            public LtMemory memory() {
                return HeapMemory.this;
            }

            @Override
            public String nodeName() {
                return node;
            }

            @Override
            public List<NodeInfo> nodes() {
                return List.of(new NodeInfo("a", 1, 1, 1 << 20, "local"), new NodeInfo("b", 2, 1, 1 << 20, "shm"));
            }

            @Override
            public boolean isOpen() {
                return true;
            }

            @Override
            public void close() {}
        };
    }

    synchronized Set<String> names() {
        return Set.copyOf(named.keySet());
    }

    /** Changes one byte behind everybody's back. */
    synchronized void flip(String name, int offset) {
        Lmr lmr = named.get(name);
        if (lmr != null) {
            lmr.bytes[offset] ^= 1;
        }
    }

    @Override
    public LmrHandle malloc(LmrSpec spec, Duration deadline) {
        return malloc(spec);
    }

    @Override
    public synchronized LmrHandle malloc(LmrSpec spec) {
        Lmr lmr = new Lmr(spec);
        String name = spec.name();
        if (name != null && named.putIfAbsent(name, lmr) != null) {
            throw new LmrExistsException(name);
        }
        return lmr;
    }

    @Override
    public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
        return map(name, permissions);
    }

    @Override
    public synchronized LmrHandle map(String name, Set<Permission> permissions) {
        Lmr lmr = named.get(name);
        if (lmr == null) {
            throw new LmrNotFoundException(name);
        }
        return lmr;
    }

    private final class Lmr implements LmrHandle {
        private final LmrSpec spec;
        private final byte[] bytes;
        private boolean freed;

        Lmr(LmrSpec spec) {
            this.spec = spec;
            this.bytes = new byte[Math.toIntExact(spec.size())];
        }

        @Override
        public long id() {
            return 1;
        }

        @Override
        public Optional<String> name() {
            return Optional.ofNullable(spec.name());
        }

        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public Set<Permission> permissions() {
            return EnumSet.allOf(Permission.class);
        }

        @Override
        public void read(long offset, MemorySegment destination) {
            synchronized (HeapMemory.this) {
                destination.copyFrom(range(offset, destination.byteSize()));
            }
        }

        @Override
        public void write(long offset, MemorySegment source) {
            synchronized (HeapMemory.this) {
                range(offset, source.byteSize()).copyFrom(source);
            }
        }

        @Override
        public long fetchAdd(long offset, long delta) {
            synchronized (HeapMemory.this) {
                MemorySegment word = range(offset, Long.BYTES);
                long before = word.get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
                word.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, before + delta);
                return before;
            }
        }

        @Override
        public long testSet(long offset, long expected, long value) {
            throw new UnsupportedOperationException("the demo does not use it");
        }

        private MemorySegment range(long offset, long length) {
            if (freed) {
                throw new LmrFreedException("freed");
            }
            if (offset < 0 || length > bytes.length - offset) {
                throw new LmrBoundsException("%d and %d of %d".formatted(offset, length, bytes.length));
            }
            return MemorySegment.ofArray(bytes).asSlice(offset, length);
        }

        @Override
        public List<Extent> extents() {
            return List.of(new Extent("a", 0, bytes.length));
        }

        @Override
        public void unmap() {}

        @Override
        public void free() {
            synchronized (HeapMemory.this) {
                freed = true;
                String name = spec.name();
                if (name != null) {
                    named.remove(name);
                }
            }
        }
    }
}
