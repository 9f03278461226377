package dev.lite.samples.thumbnail;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The settings of the gallery.
 *
 * @param photos Number of photos.
 * @param atOnce How many photos are with the thumbnailers at the same time.
 * @param width Width of a thumbnail, in pixels.
 */
@ConfigurationProperties("gallery")
public record GalleryProperties(
        @DefaultValue("8") int photos,
        @DefaultValue("4") int atOnce,
        @DefaultValue("160") int width) {}
