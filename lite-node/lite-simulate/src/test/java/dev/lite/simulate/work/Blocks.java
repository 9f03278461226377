package dev.lite.simulate.work;

import dev.lite.api.LiteException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.simulate.tier.Cluster;
import dev.lite.simulate.tier.Mix;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Short-lived LMRs. A new one is clean, has an id that none had before, and holds what its owner wrote into it and nothing else:
 * so nobody writes to memory that was given to another. A guest writes into each as well, also after it was freed. What follows
 * the guest's words is set by the nodes that store it.
 */
final class Blocks implements Part {
    private static final int LIVE_MAX = 30;
    private static final int WORDS_MAX = 2048;
    private static final int SET_BYTES = 512;
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE};
    private static final Permission[] ALL = {Permission.READ, Permission.WRITE, Permission.MASTER};

    private final Cluster cluster;
    private final List<Block> blocks = new ArrayList<>();
    private final List<Guest> guests = new ArrayList<>();
    private final Map<Long, Integer> ids = new HashMap<>();
    private int made;

    /** An LMR: first its owner's words, as many words of its guest, then bytes that its owner sets. */
    private static final class Block {
        final int number;
        final int words;
        final LmrHandle handle;
        final App owner;
        final String name;
        boolean written;
        boolean freed;

        Block(int number, int words, LmrHandle handle, App owner, String name) {
            this.number = number;
            this.words = words;
            this.handle = handle;
            this.owner = owner;
            this.name = name;
        }

        long tag() {
            return 0x0b00_0000_0000_0000L + number;
        }

        byte setTo() {
            return (byte) (1 + number % 100);
        }
    }

    /** Another application's handle of a block. */
    private record Guest(Block block, App app, LmrHandle handle) {}

    Blocks(Cluster cluster) {
        this.cluster = cluster;
    }

    @Override
    public int weight(Mix mix) {
        return switch (mix) {
            case CUTS -> 8;
            case RETURNS, SESSIONS -> 4;
            case TRANSFERS -> 0;
            default -> 1;
        };
    }

    @Override
    public void step(App app) {
        switch (app.random.nextInt(11)) {
            case 0, 1 -> make(app);
            case 2, 3 -> verify(app);
            case 4 -> invite(app);
            case 5, 6 -> visit(app);
            case 7 -> move(app);
            case 8, 9 -> set(app);
            default -> free(app);
        }
    }

    private void make(App app) {
        if (blocks.stream().filter(block -> !block.owner.process.isDead()).count() >= LIVE_MAX) {
            return;
        }
        int number = ++made;
        int words = 2 * (1 + app.random.nextInt(WORDS_MAX / 2));
        boolean named = app.random.nextBoolean();
        LmrSpec spec = LmrSpec.of(8L * words + SET_BYTES)
                .withPlacement(Placement.on(app.anyNode()))
                .withDefaultPermissions(DATA);
        String name = named ? "block" + number : "";
        LmrHandle handle = app.lite.memory().malloc(named ? spec.withName(name) : spec);
        Integer twin = ids.put(handle.id(), number);
        if (twin != null) {
            cluster.rule().broken("blocks %d and %d have the id %x".formatted(twin, number, handle.id()));
        }
        Block block = new Block(number, words, handle, app, name);
        blocks.add(block);
        try {
            fill(block);
        } catch (LmrFreedException e) {
            if (!app.process.isDead()) {
                cluster.rule().broken("the new block %d was freed, but not by its owner: %s".formatted(number, e));
            }
            throw e;
        }
    }

    private void fill(Block block) {
        int words = block.words;
        LmrHandle handle = block.handle;
        long[] content = new long[words + SET_BYTES / Long.BYTES];
        handle.read(0, MemorySegment.ofArray(content));
        for (long word : content) {
            if (word != 0) {
                cluster.rule().broken("the new block %d is not clean: %x".formatted(block.number, word));
            }
        }
        Arrays.fill(content, 0, words / 2, block.tag());
        handle.write(0, MemorySegment.ofArray(content).asSlice(0, 4L * words));
        block.written = true;
    }

    private List<Block> of(App app) {
        return blocks.stream().filter(block -> block.owner == app).toList();
    }

    private void verify(App app) {
        for (Block block : of(app)) {
            if (block.written && !block.freed) {
                long[] content = new long[block.words / 2];
                block.handle.read(0, MemorySegment.ofArray(content));
                for (int i = 0; i < content.length && !block.freed; i++) {
                    if (content[i] != block.tag()) {
                        cluster.rule()
                                .broken("block %d of %s, LMR %x at %s: word %d is %x, not %x"
                                        .formatted(
                                                block.number,
                                                app.process,
                                                block.handle.id(),
                                                block.handle.extents(),
                                                i,
                                                content[i],
                                                block.tag()));
                    }
                }
            }
        }
    }

    private void invite(App app) {
        List<Block> others = blocks.stream()
                .filter(block -> block.owner != app && block.written && !block.freed)
                .toList();
        if (!others.isEmpty()) {
            Block block = others.get(app.random.nextInt(others.size()));
            LmrHandle handle = block.name.isEmpty()
                    ? app.lite.memory().map(block.handle.id(), Permission.READ, Permission.WRITE)
                    : app.lite.memory().map(block.name, Permission.READ, Permission.WRITE);
            guests.add(new Guest(block, app, handle));
        }
    }

    /** Writes as a guest; the handle is kept when the block is gone, since nobody says so to an application. */
    private void visit(App app) {
        List<Guest> mine = guests.stream().filter(guest -> guest.app == app).toList();
        if (mine.isEmpty()) {
            return;
        }
        Guest guest = mine.get(app.random.nextInt(mine.size()));
        long[] words = new long[guest.block.words / 2];
        Arrays.fill(words, 0x0c00_0000_0000_0000L + guest.block.number);
        try {
            guest.handle.write(4L * guest.block.words, MemorySegment.ofArray(words));
        } catch (LiteException e) {
            if (guest.block.freed && app.random.nextInt(4) == 0) {
                guests.remove(guest);
            }
            throw e;
        }
    }

    /** Each node sets what it stores; the bytes hold that or nothing. */
    private void set(App app) {
        List<Block> mine = of(app);
        if (mine.isEmpty()) {
            return;
        }
        Block block = mine.get(app.random.nextInt(mine.size()));
        byte[] before = new byte[SET_BYTES];
        block.handle.read(8L * block.words, before);
        for (byte each : before) {
            if (each != 0 && each != block.setTo() && !block.freed) {
                cluster.rule()
                        .broken("block %d holds %x where only zeros and %x were set"
                                .formatted(block.number, each, block.setTo()));
            }
        }
        block.handle.memset(8L * block.words, SET_BYTES, block.setTo());
    }

    private void move(App app) {
        List<Block> mine = of(app);
        if (!mine.isEmpty()) {
            Block block = mine.get(app.random.nextInt(mine.size()));
            block.handle.moveTo(app.anyNode());
        }
    }

    private void free(App app) {
        List<Block> mine = of(app);
        if (!mine.isEmpty()) {
            free(mine.get(app.random.nextInt(mine.size())));
        }
    }

    private void free(Block block) {
        block.freed = true; // from here on it may be gone
        block.handle.free();
        blocks.remove(block);
    }

    @Override
    public void settle(App any) {
        for (Block block : List.copyOf(blocks)) {
            if (block.written && !block.freed && !block.name.isEmpty()) {
                long[] content = new long[block.words / 2];
                any.lite.memory().map(block.name, Permission.READ).read(0, MemorySegment.ofArray(content));
                for (long word : content) {
                    if (word != block.tag()) {
                        cluster.rule()
                                .broken("in the end, block %d holds %x, not %x"
                                        .formatted(block.number, word, block.tag()));
                    }
                }
            }
        }
    }

    @Override
    public void cleanUp(App any) {
        for (String name : cluster.store().names()) {
            if (name.startsWith("block")) {
                try {
                    any.lite.memory().map(name, Permission.READ, ALL).free();
                } catch (LmrNotFoundException | LmrFreedException e) {
                    any.note(name + " is being freed already");
                }
            }
        }
    }
}
