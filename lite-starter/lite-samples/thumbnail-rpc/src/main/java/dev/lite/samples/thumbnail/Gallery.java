package dev.lite.samples.thumbnail;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import java.awt.image.BufferedImage;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/** Has thumbnails made of its photos, several at a time. */
@Component
@Profile("gallery")
final class Gallery implements ApplicationRunner {

    /** The PNG of a photo of this size has a little more than 1 MiB. */
    private static final int PHOTO_WIDTH = 720;

    private static final int PHOTO_HEIGHT = 540;

    private final LtMemory memory;
    private final Thumbnails thumbnails;
    private final GalleryProperties properties;

    Gallery(LtMemory memory, Thumbnails thumbnails, GalleryProperties properties) {
        this.memory = memory;
        this.thumbnails = thumbnails;
        this.properties = properties;
    }

    @Override
    public void run(ApplicationArguments arguments) {
        List<Thumbnail> made;
        try (ExecutorService executor = Executors.newFixedThreadPool(properties.atOnce())) {
            List<CompletableFuture<Thumbnail>> making = IntStream.rangeClosed(1, properties.photos())
                    .mapToObj(number -> CompletableFuture.supplyAsync(() -> thumbnail(number), executor))
                    .toList();
            try {
                made = making.stream().map(CompletableFuture::join).toList();
            } catch (CompletionException e) {
                executor.shutdownNow(); // otherwise its close waits for all other photos
                throw e;
            }
        }
        System.out.println("%d thumbnails, made at %s"
                .formatted(
                        made.size(),
                        made.stream()
                                .collect(Collectors.groupingBy(Thumbnail::node, TreeMap::new, Collectors.counting()))));
    }

    /** Puts a photo into remote memory, calls a thumbnailer, and checks the size of the thumbnail. */
    private Thumbnail thumbnail(int number) {
        byte[] png = Pictures.encode(Pictures.photo(PHOTO_WIDTH, PHOTO_HEIGHT, new Random(number)), "png");
        Thumbnail thumbnail;
        // Without a name: it costs the cluster's directory nothing, and only applications that get the id can map it.
        LmrSpec spec = LmrSpec.of(png.length).withDefaultPermissions(Permission.READ);
        LmrHandle photo = memory.register(spec, MemorySegment.ofArray(png));
        try {
            thumbnail = thumbnails.make(new Photo(photo.id(), png.length, properties.width()));
        } finally {
            photo.free();
        }
        BufferedImage picture = Pictures.decode(thumbnail.jpeg());
        if (picture.getWidth() != properties.width()) {
            throw new IllegalStateException("the thumbnail of photo %d is %d pixels wide; %d were wanted"
                    .formatted(number, picture.getWidth(), properties.width()));
        }
        System.out.println("Photo %d, PNG of %,d bytes: thumbnail of %d x %d pixels, JPEG of %,d bytes, made at %s"
                .formatted(
                        number,
                        png.length,
                        picture.getWidth(),
                        picture.getHeight(),
                        thumbnail.jpeg().length,
                        thumbnail.node()));
        return thumbnail;
    }
}
